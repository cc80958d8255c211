#include "node/overrun_log.hpp"

#include <gtest/gtest.h>

namespace godwit::node {
namespace {

using std::chrono::milliseconds;

TEST(OverrunLog, TellsOfEachFunctionOnceAndAgainWhenItGetsMuchWorse) {
  const ContentId a = ContentId::of(bytes_of("a"));
  const ContentId b = ContentId::of(bytes_of("b"));
  OverrunLog log;
  EXPECT_TRUE(log.is_news(a, 0, milliseconds(2)));
  EXPECT_FALSE(log.is_news(a, 0, milliseconds(2)));
  EXPECT_FALSE(log.is_news(a, 0, milliseconds(3)));
  EXPECT_TRUE(log.is_news(a, 0, milliseconds(4)));
  EXPECT_FALSE(log.is_news(a, 0, milliseconds(7)));
  EXPECT_TRUE(log.is_news(a, 1, milliseconds(1)));
  EXPECT_TRUE(log.is_news(b, 0, milliseconds(1)));
}

TEST(OverrunLog, RemembersABoundedNumberOfFunctions) {
  const ContentId a = ContentId::of(bytes_of("a"));
  OverrunLog log;
  for (std::uint32_t i = 0; i < OverrunLog::kMaxFunctions; ++i) {
    EXPECT_TRUE(log.is_news(a, i, milliseconds(2)));
  }
  EXPECT_TRUE(log.is_news(a, 0, milliseconds(2)));
}

}  // namespace
}  // namespace godwit::node
