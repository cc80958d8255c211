#include "call/code_holders.hpp"

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace godwit::call {
namespace {

ContentId bundle(std::size_t number) {
  return ContentId::of(bytes_of_value(number));
}

TEST(CodeHolders, NameTheLatestFirstAndFewAtAll) {
  CodeHolders holders;
  for (std::uint64_t node = 1; node <= 6; ++node) holders.note(bundle(0), NodeId{node});
  holders.note(bundle(0), NodeId{4});
  const auto known = holders.of(bundle(0));
  EXPECT_EQ(std::vector<NodeId>(known.begin(), known.end()),
            (std::vector<NodeId>{{4}, {6}, {5}, {3}}));
}

TEST(CodeHolders, ForgetWhoSaidThatItHasNotGotIt) {
  CodeHolders holders;
  holders.note(bundle(0), NodeId{1});
  holders.drop(bundle(0), NodeId{2});
  EXPECT_EQ(holders.of(bundle(0)).size(), 1U);
  holders.drop(bundle(0), NodeId{1});
  EXPECT_TRUE(holders.of(bundle(0)).empty());
}

TEST(CodeHolders, ForgetTheBundleNotedLongestAgo) {
  CodeHolders holders;
  for (std::size_t i = 0; i < CodeHolders::kMaxBundles; ++i) holders.note(bundle(i), NodeId{1});
  holders.note(bundle(0), NodeId{1});
  holders.note(bundle(CodeHolders::kMaxBundles), NodeId{1});
  EXPECT_FALSE(holders.of(bundle(0)).empty()) << "it was noted again";
  EXPECT_TRUE(holders.of(bundle(1)).empty());
  EXPECT_FALSE(holders.of(bundle(2)).empty());
}

}  // namespace
}  // namespace godwit::call
