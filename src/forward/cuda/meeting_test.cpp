// What needs no GPU: how ranks meet, and what they tell each other first.
#include "forward/cuda/meeting.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/mail.hpp"
#include "forward/cuda/pinned.hpp"
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
    constexpr std::array kTypes{godwit::detail::item_type<Number>()};
    GODWIT_TRY(auto outpost,
               forward::Outpost::create(group, kTypes, {.patience = milliseconds(50)}));
    Mail mail(*outpost);
    const Rank other = 1 - group.rank();
    mail.send(other, Word{.text = "hello"});
    mail.send(other, Number{.value = 7});
    GODWIT_TRY(const auto number, mail.receive<Number>());
    EXPECT_EQ(number.message.value, 7u);
    EXPECT_EQ(number.from, other);
    GODWIT_TRY(const auto word, mail.receive<Word>());
    EXPECT_STREQ(word.message.text, "hello");
    GODWIT_CHECK(outpost->agree({}));
    EXPECT_FALSE(mail.receive<Word>().has_value()) << "nobody writes another";
    return {};
  });
  EXPECT_TRUE(done.has_value()) << done.error().message;
}

TEST(CudaPinned, MemoryIsCutByPagesSoThatNoChunkIsHalfPinned) {
  struct Inner final : forward::ChunkArena {
    std::byte* allocate(std::size_t bytes) noexcept override {
      sizes.push_back(bytes);
      return sizes.size() < 3 ? memory.data() : nullptr;
    }
    std::vector<std::byte> memory = std::vector<std::byte>(16384);
    std::vector<std::size_t> sizes;
  };
  const auto inner = std::make_shared<Inner>();
  PinnedArena arena(inner);
  EXPECT_EQ(arena.allocate(5000), inner->memory.data());
  EXPECT_EQ(arena.allocate(4096), inner->memory.data());
  EXPECT_EQ(inner->sizes, (std::vector<std::size_t>{8192, 4096}));
  std::byte* const elsewhere = arena.allocate(100);  // the inner one is used up
  ASSERT_NE(elsewhere, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(elsewhere) % 4096, 0u);
}

TEST(CudaTickets, ATicketNobodyLeftGetsNothing) {
  EXPECT_EQ(take_team(12345).error().code, ErrorCode::not_found);
  EXPECT_EQ(take_team(leave_team(nullptr)).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace godwit::cuda
