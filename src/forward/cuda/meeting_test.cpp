// What needs no GPU: how ranks meet, and what they tell each other first.
#include "forward/cuda/meeting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/mail.hpp"
#include "forward/cuda/setup.hpp"
#include "forward/cuda/tickets.hpp"
#include "godwit/group.hpp"

namespace godwit::cuda {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{60'000};

TEST(CudaMeeting, TheLastToComeActsOnceForAll) {
  constexpr std::uint32_t kMembers = 4;
  constexpr int kRounds = 1000;
  Meeting meeting(kMembers);
  int closed = 0;  // guarded by the meeting itself
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    threads.emplace_back([&] {
      for (int round = 1; round <= kRounds; ++round) {
        const Status met = meeting.meet(kLong, [&]() -> Status {
          ++closed;
          return {};
        });
        if (!met || closed != round) ++wrong;
        // Nobody may close the next one before all have looked.
        const Status looked = meeting.meet(kLong, []() -> Status { return {}; });
        if (!looked) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(closed, kRounds);
  EXPECT_EQ(wrong, 0);
}

TEST(CudaMeeting, AnErrorOfTheOneThatActsIsEverybodysAndFinal) {
  Meeting meeting(2);
  const auto come = [&](ErrorCode code) {
    const Status met =
        meeting.meet(kLong, [&]() -> Status { return fail(code, "as the test wants"); });
    ASSERT_FALSE(met.has_value());
    EXPECT_EQ(met.error().code, ErrorCode::internal);
  };
  std::thread other([&] { come(ErrorCode::internal); });
  come(ErrorCode::internal);
  other.join();
  come(ErrorCode::io);  // is not acted on: there is no further meeting
}

TEST(CudaMeeting, WhoeverWaitsForOneThatLeftLearnsIt) {
  Meeting meeting(2);
  std::thread waiting([&] {
    const Status met = meeting.meet(kLong, []() -> Status { return {}; });
    ASSERT_FALSE(met.has_value());
    EXPECT_EQ(met.error().code, ErrorCode::node_lost);
  });
  meeting.break_up({ErrorCode::node_lost, "rank 1 left"});
  waiting.join();
}

TEST(CudaMeeting, NobodyWaitsLongerThanItsPatience) {
  Meeting meeting(2);
  const Status met = meeting.meet(milliseconds(20), []() -> Status { return {}; });
  ASSERT_FALSE(met.has_value());
  EXPECT_EQ(met.error().code, ErrorCode::deadline);
  EXPECT_NE(met.error().message.find("1 of 2 ranks"), std::string::npos) << met.error().message;
}

struct Number {
  static constexpr std::uint16_t kTag = 0;
  std::uint64_t value = 0;
};
struct Word {
  static constexpr std::uint16_t kTag = 1;
  char text[100] = {};
};

TEST(CudaMail, MessagesOfEachTypeComeInTheirTurn) {
  const Status done = run_ranks(2, [](Group& group) -> Status {
    const ExchangeOptions options;
    GODWIT_TRY(auto carrier, group.core().open({mail_types(), options}));
    Mail mail(std::move(carrier), group.rank());
    const Rank other = 1 - group.rank();
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    mail.send(other, Word{.text = "hello"});
    mail.send(other, Number{.value = 7});
    GODWIT_TRY(const auto number, mail.receive<Number>(deadline));
    EXPECT_EQ(number.message.value, 7u);
    EXPECT_EQ(number.from, other);
    GODWIT_TRY(const auto word, mail.receive<Word>(deadline));
    EXPECT_STREQ(word.message.text, "hello");
    const auto nothing = mail.receive<Word>(std::chrono::steady_clock::now());
    EXPECT_EQ(nothing.error().code, ErrorCode::deadline);
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
}

TEST(CudaTickets, ATicketNobodyLeftGetsNothing) {
  EXPECT_EQ(take_team(12345).error().code, ErrorCode::not_found);
  EXPECT_EQ(take_team(leave_team(nullptr)).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace godwit::cuda
