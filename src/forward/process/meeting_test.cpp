// How processes find each other, and what they are told if they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/folder_for_test.hpp"
#include "fabric/fd.hpp"
#include "forward/process/member_card.hpp"
#include "godwit/exchange.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::forward {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

struct Word {
  std::uint64_t value = 0;
};

// A port that was free a moment ago.
std::uint16_t free_port() {
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// Threads of this process that meet as processes do.
std::vector<Result<Group>> meet_all(const std::vector<MeetOptions>& all) {
  std::vector<Result<Group>> groups(
      all.size(), Result<Group>(tl::unexpected(Error{ErrorCode::internal, "not met"})));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] { groups[i] = Group::meet(all[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return groups;
}

// Each rank sends its number to all.
void expect_to_work(std::vector<Result<Group>>& groups) {
  std::vector<std::thread> threads;
  for (auto& group : groups) {
    ASSERT_TRUE(group) << group.error().message;
    threads.emplace_back([&group] {
      auto exchange = Exchange<Word>::create(*group);
      ASSERT_TRUE(exchange) << exchange.error().message;
      for (Rank rank = 0; rank < group->ranks(); ++rank) exchange->emit(Word{1}, rank);
      const auto round = exchange->advance();
      ASSERT_TRUE(round) << round.error().message;
      EXPECT_EQ(round->incoming, static_cast<std::uint64_t>(group->ranks()));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class MeetingTest : public testing::Test {
 protected:
  [[nodiscard]] MeetOptions rank(Rank rank, Rank ranks) const {
    return {.rank = rank, .ranks = ranks, .address = place_, .patience = milliseconds(20'000)};
  }

  TestFolder folder_;
  std::string place_ = "shm://" + (folder_ / "here").string();
};

TEST_F(MeetingTest, IsAtAPathOrInAFolderAndLeavesNothingThere) {
  for (const std::string& place : {place_, "shm://" + folder_.path().string()}) {
    place_ = place;
    auto groups = meet_all({rank(0, 3), rank(1, 3), rank(2, 3)});
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
    expect_to_work(groups);
  }
}

TEST_F(MeetingTest, IsAtAPort) {
  const TestFolder temporary;
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  place_ = "tcp://127.0.0.1:" + std::to_string(free_port());
  for (const Way way : {Way::automatic, Way::tcp, Way::shm}) {
    MeetOptions first = rank(0, 2);
    MeetOptions second = rank(1, 2);
    first.way = second.way = way;
    auto groups = meet_all({first, second});
    expect_to_work(groups);
    EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
  }
  ::unsetenv("TMPDIR");
}

TEST_F(MeetingTest, OfOneRankIsOverAtOnce) {
  auto groups = meet_all({rank(0, 1)});
  expect_to_work(groups);
}

TEST_F(MeetingTest, NamesTheRanksThatHaveNotCome) {
  MeetOptions first = rank(0, 4);
  MeetOptions third = rank(2, 4);
  first.patience = milliseconds(300);
  const auto groups = meet_all({first, third});
  for (const auto& group : groups) {
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().code, ErrorCode::deadline);
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr("rank 0 waited 300 ms"), HasSubstr(place_.substr(6)),
                      HasSubstr("for rank 1, 3")));
  }
}

TEST_F(MeetingTest, MissesRankZero) {
  MeetOptions second = rank(1, 2);
  second.patience = milliseconds(200);
  const auto groups = meet_all({second});
  ASSERT_FALSE(groups[0]);
  EXPECT_EQ(groups[0].error().code, ErrorCode::deadline);
  EXPECT_THAT(groups[0].error().message, HasSubstr("rank 1 waited 200 ms"));
  EXPECT_THAT(groups[0].error().message, HasSubstr("for rank 0"));
}

TEST_F(MeetingTest, TurnsASecondProcessOfOneRankAway) {
  MeetOptions first = rank(0, 3);
  first.patience = milliseconds(1'000);
  for (const Way way : {Way::automatic, Way::tcp}) {
    MeetOptions twin = rank(1, 3);
    twin.way = first.way = way;
    const auto groups = meet_all({first, twin, twin});
    std::size_t turned_away = 0;
    for (std::size_t i = 1; i < groups.size(); ++i) {
      ASSERT_FALSE(groups[i]);
      if (groups[i].error().code != ErrorCode::invalid_argument) continue;
      ++turned_away;
      EXPECT_THAT(groups[i].error().message, HasSubstr("there is a rank 1 at"));
    }
    EXPECT_EQ(turned_away, 1U);
  }
}

TEST_F(MeetingTest, TurnsAwayWhoExpectsAnotherNumberOfRanks) {
  MeetOptions first = rank(0, 3);
  first.patience = milliseconds(500);
  const auto groups = meet_all({first, rank(1, 2)});
  ASSERT_FALSE(groups[1]);
  EXPECT_EQ(groups[1].error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(groups[1].error().message,
              AllOf(HasSubstr("rank 1 expects 2 ranks"), HasSubstr("expects 3")));
}

TEST_F(MeetingTest, AsksForTheKeyItWasGiven) {
  const std::string good = (folder_ / "good.key").string();
  const std::string bad = (folder_ / "bad.key").string();
  ASSERT_TRUE(trust::FleetKey::generate().save(good));
  ASSERT_TRUE(trust::FleetKey::generate().save(bad));
  MeetOptions first = rank(0, 2);
  MeetOptions second = rank(1, 2);
  first.key_file = second.key_file = good;
  auto groups = meet_all({first, second});
  expect_to_work(groups);
  groups.clear();
  second.key_file = bad;
  first.patience = milliseconds(500);
  groups = meet_all({first, second});
  EXPECT_FALSE(groups[0]);
  ASSERT_FALSE(groups[1]);
  EXPECT_EQ(groups[1].error().code, ErrorCode::unauthorised) << groups[1].error().message;
}

TEST_F(MeetingTest, RefusesWhatMakesNoSense) {
  const auto error_of = [](const MeetOptions& options) {
    return Group::meet(options).error().code;
  };
  EXPECT_EQ(error_of(rank(2, 2)), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(rank(-1, 2)), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(rank(0, 0)), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(rank(0, Group::kMaxRanks + 1)), ErrorCode::invalid_argument);
  MeetOptions impatient = rank(0, 2);
  impatient.patience = milliseconds(0);
  EXPECT_EQ(error_of(impatient), ErrorCode::invalid_argument);
  for (const char* place : {"", "here", "ftp://x:1", "tcp://host", "tcp://127.0.0.1:0", "shm://x",
                            "tcp://0.0.0.0:7400"}) {
    place_ = place;
    EXPECT_EQ(error_of(rank(0, 2)), ErrorCode::bad_address) << place;
  }
  place_ = "shm:///" + std::string(200, 'x');
  EXPECT_EQ(error_of(rank(0, 2)), ErrorCode::bad_address);
}

TEST(GroupEnvironment, SaysWhatIsMissing) {
  for (const char* name : {"GODWIT_RANK", "GODWIT_RANKS", "GODWIT_MEET"}) ::unsetenv(name);
  EXPECT_THAT(Group::from_environment().error().message, HasSubstr("GODWIT_RANK is not set"));
  ::setenv("GODWIT_RANK", "one", 1);
  EXPECT_EQ(Group::from_environment().error().code, ErrorCode::invalid_argument);
  ::setenv("GODWIT_RANK", "0", 1);
  ::setenv("GODWIT_RANKS", "1", 1);
  EXPECT_THAT(Group::from_environment().error().message, HasSubstr("GODWIT_MEET is not set"));
  const TestFolder folder;
  ::setenv("GODWIT_MEET", ("shm://" + folder.path().string()).c_str(), 1);
  const auto group = Group::from_environment();
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->ranks(), 1);
  for (const char* name : {"GODWIT_RANK", "GODWIT_RANKS", "GODWIT_MEET"}) ::unsetenv(name);
}

TEST(MemberCards, ComeBackAsTheyWere) {
  const MemberCard card{
      .rank = 3, .ranks = 8, .node = NodeId{77}, .host = "boot", .shm = "shm:/a b/c", .tcp = ""};
  const auto back = parse_card(to_line(card));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_line(*back), to_line(card));
  for (std::string line : {std::string(), std::string("\t\t\t\t\t\t"), to_line(card) + "\t",
                           to_line(card).substr(1)}) {
    EXPECT_FALSE(parse_card(line)) << line;
  }
  MemberCard beyond = card;
  beyond.rank = 8;
  EXPECT_FALSE(parse_card(to_line(beyond)));
}

}  // namespace
}  // namespace godwit::forward
