#include "fabric/idleness.hpp"

#include <gtest/gtest.h>

namespace godwit::fabric {
namespace {

using namespace std::chrono_literals;

// A poller in simulated time: rounds and yields take what the test says.
struct Poller {
  Time time{1'000'000'000};
  Duration round = 25ns;
  Duration yield = 300ns;
  Courtesy courtesy;
  int looks = 0;
  int yields = 0;

  // Polls for so long and finds nothing.
  void idle_for(Duration length) {
    const Time until = time + length;
    for (std::uint32_t rounds = 0; time < until; rounds = courtesy.rounds_per_look()) {
      time = time + round * courtesy.rounds_per_look();
      ++looks;
      courtesy.look(
          time, rounds,
          [this] {
            ++yields;
            time = time + yield;
          },
          [this] { return time; });
    }
  }
};

TEST(Courtesy, LooksAtTheClockAboutEveryMicrosecondWhateverARoundTakes) {
  for (const Duration round : {Duration(25ns), Duration(200ns), Duration(1us)}) {
    Poller poller;
    poller.round = round;
    poller.idle_for(100us);
    poller.looks = 0;
    poller.idle_for(100us);
    EXPECT_GE(poller.looks, 50) << round.count();
    EXPECT_LE(poller.looks, 300) << round.count();
  }
}

TEST(Courtesy, APollerWithACoreOfItsOwnHardlyYields) {
  Poller poller;
  poller.idle_for(10ms);
  EXPECT_GE(poller.yields, 1) << "it never learns of others otherwise";
  EXPECT_LE(poller.yields, 200);
}

TEST(Courtesy, APollerThatSharesItsCoreYieldsAtEveryLook) {
  Poller poller;
  poller.round = 1us;
  poller.yield = 20us;  // somebody else ran
  poller.idle_for(1ms);
  poller.looks = poller.yields = 0;
  poller.idle_for(1ms);
  EXPECT_GE(poller.yields, poller.looks * 9 / 10);
  poller.yield = 300ns;  // they are gone
  poller.idle_for(1ms);
  poller.yields = 0;
  poller.idle_for(1ms);
  EXPECT_LE(poller.yields, 20);
}

TEST(Idleness, EndsAfterTheSpinTimeAndBeginsAnewAfterAnEvent) {
  Courtesy courtesy;
  Idleness idleness(50, courtesy);
  Time time{1'000'000'000};
  const auto now = [&] {
    time = time + 1us;
    return time;
  };
  const auto rounds_until_expired = [&] {
    int rounds = 1;
    while (!idleness.expired(now)) ++rounds;
    return rounds;
  };
  const Time before = time;
  EXPECT_GT(rounds_until_expired(), 1);
  EXPECT_GE(time - before, Duration(50us));
  EXPECT_LE(time - before, Duration(60us));
  idleness.reset();
  const Time again = time;
  EXPECT_GT(rounds_until_expired(), 1);
  EXPECT_GE(time - again, Duration(50us));
}

TEST(Idleness, WithoutASpinTimeThereIsNoSpinning) {
  Courtesy courtesy;
  Idleness idleness(0, courtesy);
  EXPECT_TRUE(idleness.expired([] { return Time{1}; }));
}

}  // namespace
}  // namespace godwit::fabric
