// A node that loads and evicts code with every call does not grow.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/resident_for_test.hpp"
#include "base/sanitizers.hpp"
#include "code/native/runtime_directory.hpp"
#include "node/fleet_for_test.hpp"
#include "node/places.hpp"

namespace godwit::node {
namespace {

// Together several times what the node may keep, and called in turn: each call finds its code gone.
constexpr std::size_t kBundles = 64;
constexpr std::uint64_t kWarmUp = 1000;  // until caches, pools and the allocator are as they stay

class Cycles {
 public:
  explicit Cycles(const char* file)
      : directory_(code::RuntimeDirectory::create(runtime_base()).value()),
        fleet_(local(1, {.node_arguments = {"--code-budget-mb=1",
                                            "--cache-dir=" + directory_.path().string()}})) {
    const Bundle original = kernels(file);
    for (std::size_t i = 0; i < kBundles; ++i) {
      const Bundle bundle = rename_bundle(original, "cycle" + std::to_string(i));
      ticks_.push_back(bundle.function<std::uint64_t()>("tick").value().on(fleet_.node(0)));
    }
    pid_ = std::to_string(status()["pid"].count());
  }

  // Each is a call that loads its bundle, as fresh as it ever was, and evicts another.
  void run(std::uint64_t cycles) {
    for (std::uint64_t i = 0; i < cycles; ++i) {
      const auto ticked = ticks_[next_++ % kBundles]().get();
      ASSERT_TRUE(ticked) << to_string(ticked.error());
      ASSERT_EQ(*ticked, 1U) << "its code had not been evicted";
    }
  }
  [[nodiscard]] trace::JsonValue status() const { return status_of(fleet_, fleet_.node(0)); }
  [[nodiscard]] std::size_t resident() const { return resident_bytes(pid_); }
  // Whether compiled code came to be on disk.
  [[nodiscard]] bool cached() const {
    const auto files = std::filesystem::recursive_directory_iterator(directory_.path());
    return std::any_of(begin(files), end(files),
                       [](const auto& file) { return file.is_regular_file(); });
  }

 private:
  code::RuntimeDirectory directory_;
  Fleet fleet_;
  std::vector<BoundFunction<std::uint64_t()>> ticks_;
  std::string pid_;
  std::uint64_t next_ = 0;
};

// Half of what a leak of 1 KiB in each cycle would add up to.
void expect_flat_memory(Cycles& node, std::uint64_t cycles) {
  ASSERT_NO_FATAL_FAILURE(node.run(kWarmUp));
  const std::uint64_t evicted = node.status()["code"]["evictions"].count();
  const std::size_t before = node.resident();
  ASSERT_GT(before, 0U);
  ASSERT_NO_FATAL_FAILURE(node.run(cycles));
  const std::size_t after = node.resident();
  const std::uint64_t evictions = node.status()["code"]["evictions"].count() - evicted;
  EXPECT_GE(evictions + kBundles, cycles);
  const std::size_t grown = after - std::min(before, after);
  std::printf("%ju cycles: the node has %zu KiB, %zu KiB more than before\n",
              static_cast<std::uintmax_t>(cycles), after >> 10, grown >> 10);
  if (!kSanitized) {
    EXPECT_LT(grown, cycles << 9);
  }
}

void native(std::uint64_t cycles) {
  Cycles node(GODWIT_TEST_SMALL_BUNDLE);
  expect_flat_memory(node, cycles);
}

void bitcode(std::uint64_t cycles) {
  Cycles node(GODWIT_TEST_SMALL_BITCODE_BUNDLE);
  expect_flat_memory(node, cycles);
  EXPECT_TRUE(node.cached()) << "code was compiled again and again";
}

TEST(CodeCycles, NativeCodeComingAndGoingLeavesANodesMemoryFlat) {
  native(2000);
}
TEST(CodeCycles, BitcodeComingAndGoingLeavesANodesMemoryFlat) {
  bitcode(1000);
}
TEST(CodeCycles, LongNativeCodeComingAndGoingLeavesANodesMemoryFlat) {
  native(10'000);
}
TEST(CodeCycles, LongBitcodeComingAndGoingLeavesANodesMemoryFlat) {
  bitcode(10'000);
}

}  // namespace
}  // namespace godwit::node
