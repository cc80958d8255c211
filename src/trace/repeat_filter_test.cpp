#include "trace/repeat_filter.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace godwit::trace {
namespace {

constexpr Duration kWindow = std::chrono::seconds(1);

TEST(RepeatFilter, LetsAFewThroughAndReportsTheRestAfterTheWindow) {
  RepeatFilter filter(2, kWindow);
  std::vector<RepeatFilter::Report> reports;
  EXPECT_TRUE(filter.admit("a", Time{0}, reports));
  EXPECT_TRUE(filter.admit("a", Time{1}, reports));
  EXPECT_FALSE(filter.admit("a", Time{2}, reports));
  EXPECT_FALSE(filter.admit("a", Time{kWindow.count() - 1}, reports));
  EXPECT_TRUE(reports.empty());
  EXPECT_TRUE(filter.admit("a", Time{kWindow.count()}, reports));
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].kind, "a");
  EXPECT_EQ(reports[0].held_back, 2U);
}

TEST(RepeatFilter, KindsDoNotShareALimit) {
  RepeatFilter filter(1, kWindow);
  std::vector<RepeatFilter::Report> reports;
  EXPECT_TRUE(filter.admit("link {} is down", Time{0}, reports));
  EXPECT_TRUE(filter.admit("node {} is lost", Time{0}, reports));
}

TEST(RepeatFilter, AccountsForEveryMessageWithMoreKindsThanSlots) {
  RepeatFilter filter(1, kWindow);
  std::vector<RepeatFilter::Report> reports;
  std::uint64_t written = 0;
  constexpr std::uint64_t kKinds = 4 * RepeatFilter::kSlots;
  for (std::uint64_t kind = 0; kind < kKinds; ++kind) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      written += filter.admit("kind " + std::to_string(kind), Time{0}, reports) ? 1 : 0;
    }
  }
  for (const auto& report : filter.drain()) reports.push_back(report);
  std::uint64_t held_back = 0;
  for (const auto& report : reports) held_back += report.held_back;
  EXPECT_EQ(written, kKinds);
  EXPECT_EQ(held_back, 2 * kKinds);
  EXPECT_TRUE(filter.drain().empty());
}

}  // namespace
}  // namespace godwit::trace
