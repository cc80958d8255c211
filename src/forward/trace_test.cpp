// What an exchange tells of its run: a timeline of all ranks, and items that play ping-pong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/fail.hpp"
#include "base/folder_for_test.hpp"
#include "godwit/exchange.hpp"
#include "trace/json_value.hpp"

namespace godwit::forward {
namespace {

struct Hopper {
  std::uint32_t hops = 0;
};

TEST(ExchangeTrace, IsOneFileWithTheTimelineOfEveryRank) {
  const TestFolder folder;
  const std::string path = (folder / "trace.json").string();
  const Status done = run_ranks(3, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange,
               Exchange<Hopper>::create(group, {.workers = 2, .trace_events = 1000}));
    for (const Pace pace : {Pace::rounds, Pace::free}) {
      for (int i = 0; i < 100; ++i) exchange.emit(Hopper{3}, i % 3);
      GODWIT_TRY([[maybe_unused]] const RunReport report, exchange.run(
                                                              [](const Hopper& ball, auto& out) {
                                                                if (ball.hops > 0)
                                                                  out.emit(Hopper{ball.hops - 1},
                                                                           (out.rank() + 1) % 3);
                                                              },
                                                              pace));
    }
    return exchange.save_trace(path);
  });
  ASSERT_TRUE(done) << done.error().message;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto json = trace::JsonValue::parse(text.str());
  ASSERT_TRUE(json) << text.str().substr(0, 200);
  for (const char* const rank : {"rank 0", "rank 1", "rank 2"}) {
    EXPECT_THAT(text.str(), testing::HasSubstr(rank));
  }
  for (const char* const span : {"\"process\"", "\"advance\"", "\"wait\""}) {
    EXPECT_THAT(text.str(), testing::HasSubstr(span));
  }
}

TEST(ExchangeTrace, ThatCannotBeWrittenIsAnErrorOnAllRanks) {
  std::atomic<int> refused = 0;
  const Status done = run_ranks(2, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, Exchange<Hopper>::create(group));
    const Status saved = exchange.save_trace("/no/such/folder/trace.json");
    if (!saved && saved.error().code == ErrorCode::io) ++refused;
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(refused, 2);
}

TEST(ExchangeStatus, TellsOfItemsThatGoBackAndForth) {
  for (const bool ping_pong : {true, false}) {
    const Status done = run_ranks(3, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange, Exchange<Hopper>::create(group));
      if (group.rank() == 0) {
        for (int i = 0; i < 1000; ++i) exchange.emit(Hopper{6}, 1);
      }
      GODWIT_TRY([[maybe_unused]] const RunReport report,
                 exchange.run([&](const Hopper& ball, auto& out) {
                   if (ball.hops == 0) return;
                   const Rank on = (out.rank() + 1) % 3;
                   out.emit(Hopper{ball.hops - 1}, ping_pong ? 1 - out.rank() : on);
                 }));
      const ExchangeStatus status = exchange.status();
      if (ping_pong && group.rank() == 0) {
        EXPECT_THAT(status.sent_back_to, testing::ElementsAre(0, 3000, 0));
      } else if (!ping_pong) {
        EXPECT_THAT(status.sent_back_to, testing::Each(0));
      }
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
  }
}

}  // namespace
}  // namespace godwit::forward
