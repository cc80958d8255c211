#include "ref/access/reaches.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <memory>

namespace godwit::ref {
namespace {

Reaches::Pointer reach_to(std::uint64_t home) {
  return std::make_shared<const Reach>(Reach{NodeId{home}, nullptr, 7, nullptr});
}

class ReachesTest : public testing::Test {
 protected:
  // What is kept is kept for the core that this thread runs on.
  ReachesTest() {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &here);
    ::sched_setaffinity(0, sizeof here, &here);
  }
  ~ReachesTest() override { ::sched_setaffinity(0, sizeof before_, &before_); }

  Reaches reaches;

 private:
  cpu_set_t before_{};
};

TEST_F(ReachesTest, AReachIsFoundByItsHome) {
  EXPECT_EQ(reaches.find(NodeId{5}), nullptr);
  const auto reach = reach_to(5);
  reaches.keep(reach);
  EXPECT_EQ(reaches.find(NodeId{5}), reach);
  EXPECT_EQ(reaches.find(NodeId{6}), nullptr);
  EXPECT_EQ(reaches.find(NodeId{9}), nullptr) << "it would have the same place";
  reaches.keep(reach_to(9));
  EXPECT_EQ(reaches.find(NodeId{5}), nullptr) << "of two the last one";
}

TEST_F(ReachesTest, WhatIsNotUsedIsLetGoOf) {
  std::weak_ptr<const Reach> left;
  {
    const auto reach = reach_to(5);
    left = reach;
    reaches.keep(reach);
  }
  EXPECT_TRUE(reaches.sweep()) << "it was used just now";
  EXPECT_NE(reaches.find(NodeId{5}), nullptr);
  EXPECT_TRUE(reaches.sweep()) << "and again";
  EXPECT_FALSE(reaches.sweep());
  EXPECT_TRUE(left.expired());
}

TEST_F(ReachesTest, AHomeThatIsForgottenIsNotReached) {
  reaches.keep(reach_to(5));
  reaches.keep(reach_to(6));
  reaches.forget(NodeId{5});
  EXPECT_EQ(reaches.find(NodeId{5}), nullptr);
  EXPECT_NE(reaches.find(NodeId{6}), nullptr);
}

}  // namespace
}  // namespace godwit::ref
