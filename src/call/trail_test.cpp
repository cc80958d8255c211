#include "call/trail.hpp"

#include <gtest/gtest.h>

namespace godwit::call {
namespace {

TEST(Trail, LeadsToWhereTheCallWentLast) {
  Trail trail;
  trail.leave({1, 7}, NodeId{20});
  trail.leave({1, 8}, NodeId{30});
  trail.leave({2, 7}, NodeId{40});
  trail.leave({1, 7}, NodeId{50});
  EXPECT_EQ(trail.follow({1, 7}), NodeId{50});
  EXPECT_EQ(trail.follow({1, 8}), NodeId{30});
  EXPECT_EQ(trail.follow({2, 7}), NodeId{40});
  EXPECT_FALSE(trail.follow({2, 8}));
}

TEST(Trail, ForgetsTheOldestDeparturesFirst) {
  Trail trail;
  for (std::uint64_t call = 1; call <= Trail::kLength + 1; ++call) {
    trail.leave({1, call}, NodeId{call});
  }
  EXPECT_FALSE(trail.follow({1, 1}));
  EXPECT_EQ(trail.follow({1, 2}), NodeId{2});
  EXPECT_EQ(trail.follow({1, Trail::kLength + 1}), NodeId{Trail::kLength + 1});
}

}  // namespace
}  // namespace godwit::call
