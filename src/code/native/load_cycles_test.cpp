// Loading and unloading again and again costs no memory.
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/resident_for_test.hpp"
#include "base/sanitizers.hpp"
#include "code/native/native_for_test.hpp"

namespace godwit::code {
namespace {

std::size_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("cycle-") != line.npos;
  return count;
}

void cycle(NativeLoader& loader, const Bundle& bundle, int times) {
  for (int i = 0; i < times; ++i) {
    const auto library = load_first(loader, bundle);
    ASSERT_TRUE(library) << library.error().message;
    ASSERT_EQ(call(**library, "f"), 1);
  }
}

void expect_flat_memory(int cycles) {
  const SourceTree tree;
  auto request = native_request(
      {tree.write("cycle.cpp",
                  "#include <string>\n#include <vector>\n"
                  "static std::vector<std::string> kept(10, std::string(100, 'x'));\n"
                  "static long n = 0;\n"
                  "static thread_local char scratch[65536];\n" +
                      entry_text("f",
                                 "kept.push_back(\"y\");\n"
                                 "for (char& letter : scratch) ++letter;\n"
                                 "return ++n * scratch[7];"))});
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  auto directory = RuntimeDirectory::create(std::filesystem::temp_directory_path());
  ASSERT_TRUE(directory) << directory.error().message;
  NativeLoader loader(std::make_shared<const RuntimeDirectory>(*std::move(directory)));

  cycle(loader, *bundle, 50);
  const std::size_t before = resident_bytes();
  cycle(loader, *bundle, cycles);
  EXPECT_EQ(mapping_count(), 0U);
  constexpr std::size_t kNoiseBytes = 512 << 10;
  if (!kSanitized) {
    EXPECT_LT(resident_bytes(), before + kNoiseBytes);
  }
}

TEST(LoadCycles, MemoryStaysFlat) {
  expect_flat_memory(1000);
}
TEST(LoadCyclesLong, MemoryStaysFlatOverTenThousand) {
  expect_flat_memory(10000);
}

TEST(LoadCycles, ThreadsLoadSideBySide) {
  const Bundle bundle = build("static long n = 0;\n" + entry_text("f", "return ++n;"));
  NativeLoader loader(nullptr);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { cycle(loader, bundle, 50); });
}

}  // namespace
}  // namespace godwit::code
