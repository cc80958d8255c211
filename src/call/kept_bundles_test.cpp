#include "call/kept_bundles.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "code/bundle/target.hpp"

namespace godwit::call {
namespace {

constexpr std::size_t kSliceBytes = 10'000;

code::Bundle make_bundle(int number) {
  code::BundleBuilder builder("kept" + std::to_string(number));
  builder.function({"f", "() -> u64", "f", 0});
  code::SliceInfo slice;
  slice.kind = code::SliceKind::native;
  slice.machine = code::host_machine();
  slice.triple = code::triple_of(slice.machine);
  Buffer bytes = Buffer::allocate(kSliceBytes);
  std::memset(bytes.data(), number, bytes.size());
  builder.slice(std::move(slice), std::move(bytes));
  return std::move(builder).build().value();
}

// Room for about three.
constexpr KeptBundles::Limits kSmall{.max_bytes = 3 * kSliceBytes + 3000, .max_bundles = 100};

TEST(KeptBundles, ForgetsTheLeastRecentlyUsedBeyondItsBytes) {
  KeptBundles kept(kSmall);
  const ContentId first = make_bundle(1).id();
  for (int i = 1; i <= 3; ++i) kept.add(make_bundle(i));
  EXPECT_TRUE(kept.find(first)) << "and so it is the latest again";
  kept.add(make_bundle(4));
  EXPECT_TRUE(kept.find(first));
  EXPECT_FALSE(kept.find(make_bundle(2).id()));
  EXPECT_TRUE(kept.find(make_bundle(3).id()));
  EXPECT_LE(kept.bytes(), kSmall.max_bytes);
}

TEST(KeptBundles, NeverHasMoreThanItsCount) {
  KeptBundles kept({.max_bytes = std::size_t{1} << 30, .max_bundles = 2});
  for (int i = 1; i <= 50; ++i) {
    kept.add(make_bundle(i));
    ASSERT_LE(kept.size(), 2U);
  }
  EXPECT_TRUE(kept.find(make_bundle(50).id()));
  EXPECT_FALSE(kept.find(make_bundle(48).id()));
}

TEST(KeptBundles, FindsWhatSomebodyElseHoldsWhateverTheLimit) {
  KeptBundles kept(kSmall);
  std::optional<code::Bundle> held = make_bundle(1);
  const ContentId id = held->id();
  kept.add(*held);
  for (int i = 2; i <= 20; ++i) kept.add(make_bundle(i));
  EXPECT_TRUE(kept.find(id));
  EXPECT_LE(kept.bytes(), kSmall.max_bytes) << "it is the holder's memory";
  held.reset();
  EXPECT_FALSE(kept.find(id));
}

TEST(KeptBundles, AFileOpenedTwiceStaysWhileEitherCopyLives) {
  KeptBundles kept({.max_bytes = 1, .max_bundles = 100});
  std::optional<code::Bundle> first = make_bundle(1);
  std::optional<code::Bundle> second = make_bundle(1);
  const ContentId id = first->id();
  ASSERT_EQ(second->id(), id);
  kept.add(*first);
  kept.add(*second);
  kept.add(make_bundle(2));
  first.reset();
  EXPECT_TRUE(kept.find(id));
  second.reset();
  EXPECT_FALSE(kept.find(id));
}

TEST(KeptBundles, TheLatestStaysEvenIfItIsLargerThanTheLimit) {
  KeptBundles kept({.max_bytes = 1, .max_bundles = 1});
  for (int i = 1; i <= 3; ++i) {
    kept.add(make_bundle(i));
    EXPECT_TRUE(kept.find(make_bundle(i).id()));
    EXPECT_EQ(kept.size(), 1U);
  }
}

}  // namespace
}  // namespace godwit::call
