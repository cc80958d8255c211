// The shape of the tree that an object is spread along, and what copies stand for.
#include "ref/home/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ref/home/copies.hpp"

namespace godwit::ref {
namespace {

// Walks the tree as nodes do; counts whom each serves.
std::size_t depth_below(std::span<const std::uint64_t> nodes, std::size_t fan_out,
                        std::multiset<std::uint64_t>& reached) {
  std::size_t depth = 0;
  const auto branches = branches_of(nodes, fan_out);
  EXPECT_LE(branches.size(), fan_out) << "a node sends so many copies, and no more";
  for (const Branch& branch : branches) {
    reached.insert(branch.node);
    depth = std::max(depth, 1 + depth_below(branch.below, fan_out, reached));
  }
  return depth;
}

TEST(SpreadTree, ReachesEachNodeOnceInAsManyStepsAsTheLogarithm) {
  for (const std::size_t fan_out : {1, 2, 4, 64}) {
    for (const std::size_t count : {0, 1, 2, 5, 8, 100, 1'000}) {
      std::vector<std::uint64_t> nodes(count);
      std::iota(nodes.begin(), nodes.end(), 1);
      std::multiset<std::uint64_t> reached;
      const std::size_t depth = depth_below(nodes, fan_out, reached);
      EXPECT_TRUE(std::ranges::equal(reached, nodes)) << count;
      // A full tree of that depth less one is not enough.
      std::size_t held = 0;
      std::size_t level = 1;
      std::size_t least = 0;
      for (; held < count; ++least) held += level *= fan_out;
      EXPECT_EQ(depth, least) << count << " nodes, fan-out " << fan_out;
    }
  }
}

Handle handle(std::uint8_t object, std::uint64_t mac) {
  Handle made;
  made.object.bytes[0] = object;
  made.version = 1;
  made.mac = mac;
  return made;
}

TEST(Copies, StandForTheVeryHandleTheyWereMadeFor) {
  Copies copies;
  EXPECT_FALSE(copies.find(handle(1, 5)));
  ASSERT_TRUE(copies.add(handle(1, 5), handle(9, 1)));
  EXPECT_EQ(copies.find(handle(1, 5)), handle(9, 1));
  EXPECT_FALSE(copies.find(handle(1, 6))) << "forged";
  Handle other = handle(1, 5);
  other.rights = Rights::all;
  EXPECT_FALSE(copies.find(other));
  other = handle(1, 5);
  other.version = 2;
  EXPECT_FALSE(copies.find(other));
  copies.forget(handle(1, 5), handle(8, 1));
  EXPECT_TRUE(copies.find(handle(1, 5))) << "another copy was meant";
  copies.forget(handle(1, 5), handle(9, 1));
  EXPECT_FALSE(copies.find(handle(1, 5)));
}

TEST(Copies, HaveALimit) {
  Copies copies;
  const auto numbered = [](std::size_t number) {
    Handle made;
    for (std::size_t i = 0; i < 4; ++i) {
      made.object.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
    }
    return made;
  };
  for (std::size_t i = 0; i < Copies::kMax; ++i) ASSERT_TRUE(copies.add(numbered(i), handle(9, i)));
  EXPECT_FALSE(copies.add(numbered(Copies::kMax), handle(9, 0)));
  EXPECT_TRUE(copies.add(numbered(7), handle(9, 0))) << "in the place of the one before";
  copies.forget_if([](const Handle& copy) { return copy.mac % 2 == 1; });
  EXPECT_TRUE(copies.add(numbered(Copies::kMax), handle(9, 0)));
  EXPECT_FALSE(copies.find(numbered(3)));
  EXPECT_TRUE(copies.find(numbered(4)));
}

}  // namespace
}  // namespace godwit::ref
