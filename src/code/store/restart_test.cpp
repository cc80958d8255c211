// The store with the real JIT: what a restarted node runs first, and what a stay costs.
#include <filesystem>

#include "base/resident_for_test.hpp"
#include "base/sanitizers.hpp"
#include "code/jit/jit_fixture.hpp"
#include "code/store/store_for_test.hpp"

namespace godwit::code {
namespace {

Bundle bitcode_bundle(const std::string& name, const std::string& entry, bool stateful) {
  BundleBuilder builder(name);
  builder.function({entry, "(u64, u64) -> u64", entry, 0});
  builder.slice(slice_of(SliceKind::bitcode, stateful),
                Buffer::copy_of(bytes_of(jit::test_bitcode(name))));
  return std::move(builder).build().value();
}

// One life of a node's code, over a cache directory that outlives it.
class Life {
 public:
  explicit Life(const std::string& cache_directory)
      : jit_(jit::open_or_fail({.cache_directory = cache_directory})),
        store_(scheduler_, {nullptr, jit_.get()}, options()) {}

  std::uint64_t call(const Bundle& bundle, std::uint64_t a, std::uint64_t b) {
    FunctionSlot* slot = store_.function(bundle.id(), 0).value();
    LibraryUse& use = store_.enter(*slot);
    const std::uint64_t arguments[] = {a, b};
    alignas(16) std::array<char, GODWIT_REPLY_CAPACITY> room{};
    godwit_reply reply{room.data(), room.size(), 0, nullptr};
    EXPECT_EQ(slot->entry(nullptr, arguments, sizeof arguments, &reply), GODWIT_OK);
    store_.leave(use);
    std::uint64_t value = 0;
    std::memcpy(&value, room.data(), sizeof value);
    return value;
  }

  ManualScheduler scheduler_;
  std::unique_ptr<jit::Jit> jit_;
  Store store_;

 private:
  static Store::Options options() {
    Store::Options options;
    options.target = {.has_jit = true, .llvm_major = 19};
    return options;
  }
};

TEST(Restart, TheOptimisedTierAnswersFirstWhenTheCacheIsWarm) {
  const jit::TemporaryDirectory directory;
  const Bundle code = bitcode_bundle("add", "add", false);
  {
    Life first(directory.path());
    ASSERT_TRUE(first.store_.add(code));
    first.scheduler_.work_all_but_background();
    EXPECT_EQ(first.store_.list()[0].tier, "fast");
    EXPECT_EQ(first.call(code, 40, 2), 42U);
    first.scheduler_.work_all();
    EXPECT_EQ(first.store_.list()[0].tier, "optimised");
    EXPECT_FALSE(first.store_.list()[0].cached);
    EXPECT_EQ(first.call(code, 40, 3), 43U);
    EXPECT_EQ(first.store_.counters().first_loads[static_cast<std::size_t>(Tier::fast)], 1U);
    EXPECT_EQ(first.jit_->counters().compiled, 2U);
  }
  Life second(directory.path());
  ASSERT_TRUE(second.store_.add(code));
  ASSERT_TRUE(second.scheduler_.work_once());
  EXPECT_EQ(second.store_.list()[0].tier, "optimised");
  EXPECT_TRUE(second.store_.list()[0].cached);
  EXPECT_EQ(second.call(code, 40, 2), 42U);
  second.scheduler_.work_all();
  EXPECT_EQ(second.store_.counters().first_loads[static_cast<std::size_t>(Tier::optimised)], 1U);
  EXPECT_EQ(second.jit_->counters().compiled, 0U);
}

TEST(Restart, CodeWithStateComesFromTheCacheToo) {
  const jit::TemporaryDirectory directory;
  const Bundle code = bitcode_bundle("scratch", "fill", true);
  for (const bool cached : {false, true}) {
    Life life(directory.path());
    ASSERT_TRUE(life.store_.add(code));
    life.scheduler_.work_all();
    EXPECT_EQ(life.store_.list()[0].tier, "optimised");
    EXPECT_EQ(life.store_.list()[0].cached, cached);
    EXPECT_EQ(life.call(code, 0, 0), 1U);
    EXPECT_EQ(life.call(code, 0, 0), 2U);
    EXPECT_EQ(life.jit_->counters().compiled, cached ? 0U : 1U);
  }
}

// Code with thread-locals, called each time it is here.
void load_and_evict(int cycles) {
  const jit::TemporaryDirectory directory;
  Life life(directory.path());
  const Bundle code = bitcode_bundle("scratch", "fill", true);
  const auto cycle = [&] {
    ASSERT_TRUE(life.store_.add(code));
    life.scheduler_.work_all();
    ASSERT_EQ(life.call(code, 0, 0), 1U);
    ASSERT_TRUE(life.store_.evict(code.id()));
    life.scheduler_.work_all();
  };
  for (int i = 0; i < 100; ++i) cycle();
  const std::size_t before = resident_bytes();
  for (int i = 0; i < cycles; ++i) cycle();
  EXPECT_EQ(life.store_.memory_bytes(), 0U);
  EXPECT_TRUE(life.store_.list().empty());
  if (!kSanitized) {
    EXPECT_LT(resident_bytes(), before + (std::size_t{1} << 20));
  }
}

TEST(Restart, LoadingAndEvictingThreadLocalsLeavesMemoryFlat) {
  load_and_evict(300);
}
TEST(Restart, LongLoadingAndEvictingThreadLocalsLeavesMemoryFlat) {
  load_and_evict(10'000);
}

}  // namespace
}  // namespace godwit::code
