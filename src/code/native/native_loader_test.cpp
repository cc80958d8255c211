#include "code/native/native_loader.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "code/elf/elf_file.hpp"
#include "code/native/native_for_test.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class NativeLoading : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = RuntimeDirectory::create(fs::temp_directory_path());
    ASSERT_TRUE(directory) << directory.error().message;
    directory_ = std::make_shared<const RuntimeDirectory>(*std::move(directory));
    loader_ = std::make_unique<NativeLoader>(directory_);
  }
  std::unique_ptr<Library> load(const Bundle& bundle) {
    auto library = load_first(*loader_, bundle);
    if (!library) ADD_FAILURE() << library.error().message;
    return library ? *std::move(library) : nullptr;
  }
  std::shared_ptr<const RuntimeDirectory> directory_;
  std::unique_ptr<NativeLoader> loader_;
};

TEST_F(NativeLoading, RunsAndLeavesNoFile) {
  const Bundle bundle = build(entry_text("answer", "return 42;"), "code.c");
  auto library = load(bundle);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(call(*library, "answer"), 42);
  EXPECT_EQ(library->entry("godwit_entry_other"), nullptr);
  EXPECT_EQ(library->entry("malloc"), nullptr) << "libc's functions are no entries";
  EXPECT_GE(library->memory_bytes(), 4096U);
  EXPECT_EQ(library->pinned(), std::nullopt);
  EXPECT_FALSE(fs::is_empty(directory_->path()));
  library.reset();
  EXPECT_TRUE(fs::is_empty(directory_->path()));
}

TEST_F(NativeLoading, ItsFileHasNamesForDebuggers) {
  const Bundle bundle = build(
      "__attribute__((noinline)) static long recognisable(long x) { return x * 3; }\n" +
      entry_text("f", "return recognisable(getpagesize());").insert(0, "#include <unistd.h>\n"));
  const auto library = load(bundle);
  ASSERT_NE(library, nullptr);
  const fs::path file = fs::directory_iterator(directory_->path())->path();
  EXPECT_THAT(file.filename().string(),
              AllOf(HasSubstr("code-"), HasSubstr(bundle.slices()[0].id.short_hex())));
  Dl_info info{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(library->entry("godwit_entry_f")), &info), 0);
  EXPECT_EQ(info.dli_fname, file.string());
  const auto elf = ElfFile::parse(bundle.slices()[0].bytes);
  ASSERT_TRUE(elf);
  const auto symbols = elf->symbols(SHT_SYMTAB);
  ASSERT_TRUE(symbols);
  EXPECT_TRUE(std::any_of(symbols->begin(), symbols->end(), [](const ElfSymbol& symbol) {
    return symbol.name.find("recognisable") != std::string_view::npos;
  }));
}

TEST_F(NativeLoading, WorksWithoutADirectory) {
  NativeLoader loader(nullptr);
  const Bundle bundle = build(entry_text("answer", "return 42;"), "code.c");
  auto first = load_first(loader, bundle);
  auto second = load_first(loader, bundle);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE((*first)->entry("godwit_entry_answer"), (*second)->entry("godwit_entry_answer"));
  EXPECT_EQ(call(**first, "answer"), 42);
}

TEST_F(NativeLoading, BundlesWithTheSameSymbolsLiveSideBySide) {
  const auto source = [](const std::string& value) {
    return "long shared_name = " + value + ";\nlong helper() { return shared_name; }\n" +
           entry_text("f", "shared_name += 1; return helper();");
  };
  const auto first = load(build(source("100")));
  const auto second = load(build(source("200")));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(call(*first, "f"), 101);
  EXPECT_EQ(call(*second, "f"), 201);
  EXPECT_EQ(call(*first, "f"), 102);
}

TEST_F(NativeLoading, EveryLoadOfOneSliceHasItsOwnState) {
  const Bundle bundle = build("static long n = 0;\n" + entry_text("f", "return ++n;"));
  const auto first = load(bundle);
  const auto second = load(bundle);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(call(*first, "f"), 1);
  EXPECT_EQ(call(*first, "f"), 2);
  EXPECT_EQ(call(*second, "f"), 1);
}

TEST_F(NativeLoading, ConstructorsRunAtLoadAndDestructorsAtUnload) {
  const fs::path trace = directory_->path() / "trace";
  const Bundle bundle = build(R"(
#include <cstdio>
#include <cstdlib>
static void note(const char* text) {
  FILE* file = std::fopen(")" +
                              trace.string() + R"(", "a");
  if (file != nullptr) { std::fputs(text, file); std::fclose(file); }
}
struct Thing { Thing() { note("constructed "); } ~Thing() { note("destroyed "); } };
static Thing thing;
static void at_end() { note("atexit "); }
)" + entry_text("f", "std::atexit(at_end); note(\"called \"); return 1;"));
  const auto text = [&] {
    std::ifstream file(trace);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  auto library = load(bundle);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(text(), "constructed ");
  call(*library, "f");
  library.reset();
  EXPECT_EQ(text(), "constructed called atexit destroyed ");
}

TEST_F(NativeLoading, ThreadLocalsAreOnePerThread) {
  const auto library =
      load(build("static thread_local long n = 10;\n" + entry_text("f", "return ++n;")));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(call(*library, "f"), 11);
  EXPECT_EQ(call(*library, "f"), 12);
  std::int64_t elsewhere = 0;
  std::thread([&] { elsewhere = call(*library, "f"); }).join();
  EXPECT_EQ(elsewhere, 11);
}

TEST_F(NativeLoading, ExceptionsVirtualsAndContainersWork) {
  const auto library = load(build(R"(
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual long area() const = 0; };
struct Square : Shape {
  explicit Square(long s) : side(s) {}
  long area() const override { return side * side; }
  long side;
};
static long work() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (long i = 1; i <= 3; ++i) shapes.push_back(std::make_unique<Square>(i));
  std::map<std::string, long> areas;
  for (const auto& shape : shapes) areas[std::to_string(shape->area())] = shape->area();
  long sum = 0;
  for (const auto& [text, area] : areas) sum += area;
  try {
    std::vector<int>().at(3);
  } catch (const std::out_of_range&) {
    sum += 1000;
  }
  try {
    throw std::runtime_error("mine");
  } catch (const std::exception& e) {
    sum += e.what()[0];
  }
  return dynamic_cast<Square*>(shapes[0].get()) != nullptr ? sum : 0;
}
)" + entry_text("f", "return work();")));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(call(*library, "f"), 1 + 4 + 9 + 1000 + 'm');
}

TEST_F(NativeLoading, CodeThatStartsThreadsIsPinned) {
  const auto library =
      load(build("#include <thread>\n" + entry_text("f",
                                                    "long x = 0; std::thread t([&] { x = 5; }); "
                                                    "t.join(); return x;")));
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(call(*library, "f"), 5);
  ASSERT_TRUE(library->pinned());
  EXPECT_THAT(*library->pinned(), HasSubstr("threads"));
}

TEST_F(NativeLoading, ThreadLocalDestructorsPinToo) {
  const auto library = load(build("#include <string>\nstatic thread_local std::string s;\n" +
                                  entry_text("f", "s += 'x'; return (int64_t)s.size();")));
  ASSERT_NE(library, nullptr);
  EXPECT_TRUE(library->pinned());
}

TEST_F(NativeLoading, ANeededLibraryIsUsed) {
  const SourceTree tree;
  auto request = native_request({tree.write(
      "code.c", "#include <zlib.h>\n" + entry_text("f",
                                                   "return (int64_t)crc32(0, (const Bytef*)"
                                                   "\"123456789\", 9);"))});
  request.needs = {"z"};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto library = load(*bundle);
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(call(*library, "f"), 0xCBF43926);
}

TEST_F(NativeLoading, AMissingLibraryIsNamed) {
  const SourceTree tree;
  auto request = native_request({tree.write("code.c", entry_text("f", "return 1;"))});
  request.needs = {"libgodwitabsent.so.3"};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto library = load_first(*loader_, *bundle);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::missing_library);
  EXPECT_THAT(library.error().message, HasSubstr("libgodwitabsent.so.3"));
  EXPECT_TRUE(fs::is_empty(directory_->path()));
}

TEST_F(NativeLoading, AMissingSymbolIsNamed) {
  const SourceTree tree;
  // libz.so.9 is not here, so a stand-in hides from the linker that nobody defines this.
  auto request = native_request({tree.write(
      "code.c", "long nobody_defines_this(void);\n" + entry_text("f",
                                                                 "return "
                                                                 "nobody_defines_this();"))});
  request.needs = {"libz.so.9"};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const SliceInfo& slice = bundle->slices()[0];
  // Made to need the libz that is here.
  std::string code(text_of(slice.bytes));
  code.replace(code.find("libz.so.9"), 9, "libz.so.1");
  const auto library = loader_->load(
      {.slice = slice.id, .code = bytes_of(code), .name = "code", .needs = {"libz.so.1"}});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::missing_symbol);
  EXPECT_THAT(library.error().message, HasSubstr("nobody_defines_this"));
}

TEST_F(NativeLoading, CodeForAnotherMachineIsRefusedBeforeItIsMapped) {
  const SourceTree tree;
  auto request = native_request({tree.write("code.c", entry_text("f", "return 1;"))});
  request.targets = {host_machine() == Machine::x86_64 ? Machine::aarch64 : Machine::x86_64};
  const auto bundle = compile(request);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const auto library = load_first(*loader_, *bundle);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::no_slice);
  EXPECT_THAT(library.error().message, AllOf(HasSubstr("x86_64"), HasSubstr("aarch64")));
}

TEST_F(NativeLoading, WhatIsNoCodeIsRefused) {
  for (const std::string_view code : {"", "not code at all",
                                      "\x7f"
                                      "ELF"}) {
    const auto library =
        loader_->load({.slice = {}, .code = bytes_of(code), .name = "junk", .needs = {}});
    ASSERT_FALSE(library);
    EXPECT_EQ(library.error().code, ErrorCode::corrupt_code);
  }
}

TEST_F(NativeLoading, MemoryBothWritableAndExecutableIsRefused) {
  const Bundle bundle = build(entry_text("f", "return 1;"), "code.c");
  const SliceInfo& slice = bundle.slices()[0];
  std::string code(text_of(slice.bytes));
  Elf64_Ehdr header;
  std::memcpy(&header, code.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    char* at = code.data() + header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type == PT_LOAD) segment.p_flags = PF_R | PF_W | PF_X;
    std::memcpy(at, &segment, sizeof segment);
  }
  const auto library =
      loader_->load({.slice = slice.id, .code = bytes_of(code), .name = "code", .needs = {}});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::corrupt_code);
  EXPECT_THAT(library.error().message, HasSubstr("writable and executable"));
}

TEST_F(NativeLoading, AHostileNameStaysInTheDirectory) {
  const Bundle bundle = build(entry_text("f", "return 1;"), "code.c");
  const SliceInfo& slice = bundle.slices()[0];
  const auto library = loader_->load({.slice = slice.id,
                                      .code = slice.bytes,
                                      .name = "../../../" + std::string(5000, 'x'),
                                      .needs = {}});
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_FALSE(fs::is_empty(directory_->path()));
  const auto refused = loader_->load(
      {.slice = slice.id, .code = slice.bytes, .name = "code", .needs = {"../../evil.so"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_format);
}

}  // namespace
}  // namespace godwit::code
