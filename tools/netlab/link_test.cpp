// Links by themselves, in invented time.
#include "netlab/link.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "netlab/in_flight.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::size_t kPacketBytes = 1000;
constexpr TimePoint kStart{seconds(1000)};

TEST(Link, APacketArrivesAfterExactlyTheDelay) {
  Link link({.delay = microseconds(300)}, 1);
  for (int i = 0; i < 10; ++i) {
    const TimePoint now = kStart + microseconds(i);
    EXPECT_EQ(link.admit(kPacketBytes, now), now + microseconds(300));
  }
  EXPECT_EQ(link.counters().offered, 10U);
  EXPECT_EQ(link.counters().offered_bytes, 10 * kPacketBytes);
}

TEST(Link, JitterAddsEvenlyUpToItsLimit) {
  Link link({.delay = microseconds(300), .jitter = microseconds(100), .reorders = true}, 1);
  nanoseconds least = seconds(1);
  nanoseconds most{0};
  nanoseconds sum{0};
  constexpr int kCount = 10'000;
  for (int i = 0; i < kCount; ++i) {
    const nanoseconds more = *link.admit(kPacketBytes, kStart) - kStart - microseconds(300);
    least = std::min(least, more);
    most = std::max(most, more);
    sum += more;
  }
  EXPECT_GE(least, nanoseconds(0));
  EXPECT_LT(least, microseconds(1));
  EXPECT_LE(most, microseconds(100));
  EXPECT_GT(most, microseconds(99));
  EXPECT_NEAR(static_cast<double>((sum / kCount).count()), 50'000, 1'500);
}

TEST(Link, JitterReordersOnlyWhereAsked) {
  const auto overtakings = [](bool reorders) {
    Link link({.delay = milliseconds(1), .jitter = milliseconds(1), .reorders = reorders}, 7);
    TimePoint last{};
    int count = 0;
    for (int i = 0; i < 1000; ++i) {
      const TimePoint arrival = *link.admit(kPacketBytes, kStart + microseconds(i));
      if (arrival < last) ++count;
      last = std::max(last, arrival);
    }
    return count;
  };
  EXPECT_EQ(overtakings(false), 0);
  EXPECT_GT(overtakings(true), 100);
}

TEST(Link, LosesTheFractionAskedFor) {
  Link link({.loss = 0.01}, 3);
  constexpr std::uint64_t kCount = 100'000;
  for (std::uint64_t i = 0; i < kCount; ++i) (void)link.admit(kPacketBytes, kStart);
  // Five standard deviations of a binomial distribution: 5 * sqrt(n p q) = 157.
  EXPECT_NEAR(static_cast<double>(link.counters().lost), 1000, 157);
  EXPECT_EQ(link.counters().offered, kCount);
}

TEST(Link, TheSameSeedLosesTheSamePackets) {
  const auto fates = [](std::uint64_t seed) {
    Link link({.jitter = milliseconds(1), .loss = 0.2}, seed);
    std::vector<std::optional<TimePoint>> arrivals;
    for (int i = 0; i < 200; ++i) arrivals.push_back(link.admit(kPacketBytes, kStart));
    return arrivals;
  };
  EXPECT_EQ(fates(5), fates(5));
  EXPECT_NE(fates(5), fates(6));
}

TEST(Link, ALimitedRateSpacesPackets) {
  // 1000 bytes take 1 ms.
  Link link({.delay = milliseconds(5), .rate_bytes_per_s = 1'000'000}, 1);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(link.admit(kPacketBytes, kStart), kStart + milliseconds(5 + i));
  }
  // An idle link saves nothing up.
  const TimePoint later = kStart + seconds(1);
  EXPECT_EQ(link.admit(kPacketBytes, later), later + milliseconds(6));
  EXPECT_EQ(link.admit(kPacketBytes, later), later + milliseconds(7));
}

TEST(Link, APacketThatWouldOverfillTheQueueIsDropped) {
  Link link({.rate_bytes_per_s = 1'000'000, .queue_limit_bytes = 3 * kPacketBytes}, 1);
  int taken = 0;
  while (link.admit(kPacketBytes, kStart)) ++taken;
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(link.counters().overflown, 1U);
  // One has left: there is room for one.
  EXPECT_TRUE(link.admit(kPacketBytes, kStart + milliseconds(1)));
  EXPECT_FALSE(link.admit(kPacketBytes, kStart + milliseconds(1)));
}

TEST(Link, APacketLongerThanTheQueueStillPassesAnIdleLink) {
  Link link({.rate_bytes_per_s = 1'000'000, .queue_limit_bytes = 10}, 1);
  EXPECT_TRUE(link.admit(kPacketBytes, kStart));
  EXPECT_FALSE(link.admit(kPacketBytes, kStart));
  EXPECT_TRUE(link.admit(kPacketBytes, kStart + milliseconds(1)));
}

TEST(Link, ACutTakesWhatComesAndWhatIsUnderWay) {
  Link link({.delay = milliseconds(1)}, 1);
  EXPECT_TRUE(link.admit(kPacketBytes, kStart));
  link.set_cut(true);
  EXPECT_FALSE(link.arrives());
  EXPECT_FALSE(link.admit(kPacketBytes, kStart));
  EXPECT_EQ(link.counters().cut, 2U);
  link.set_cut(false);
  EXPECT_TRUE(link.admit(kPacketBytes, kStart));
  EXPECT_TRUE(link.arrives());
}

TEST(Link, ANewShapeIsForPacketsThatComeAfterIt) {
  Link link({.delay = milliseconds(10)}, 1);
  EXPECT_EQ(link.admit(kPacketBytes, kStart), kStart + milliseconds(10));
  link.set_shape({.delay = milliseconds(1), .reorders = true});
  EXPECT_EQ(link.admit(kPacketBytes, kStart), kStart + milliseconds(1));
}

TEST(LinkShape, NonsenseIsRefusedByName) {
  const auto message = [](const LinkShape& shape) { return check(shape).error().message; };
  EXPECT_TRUE(check({}));
  EXPECT_NE(message({.delay = seconds(61)}).find("delay"), std::string::npos);
  EXPECT_NE(message({.delay = nanoseconds(-1)}).find("delay"), std::string::npos);
  EXPECT_NE(message({.jitter = seconds(61)}).find("jitter"), std::string::npos);
  EXPECT_NE(message({.loss = 1.5}).find("loss"), std::string::npos);
  EXPECT_NE(message({.loss = std::nan("")}).find("loss"), std::string::npos);
  EXPECT_NE(message({.queue_limit_bytes = kMaxQueueLimitBytes + 1}).find("queue"),
            std::string::npos);
}

TEST(InFlight, PacketsLeaveByArrivalThenByAge) {
  InFlight packets(64, 640);
  for (const int ms : {5, 1, 3, 1, 5}) {
    packets.push({.arrival = kStart + milliseconds(ms), .bytes = packets.take_buffer()});
  }
  EXPECT_EQ(packets.next_arrival(), kStart + milliseconds(1));
  std::vector<std::uint64_t> serials;
  while (packets.next_arrival()) serials.push_back(packets.pop().serial);
  EXPECT_EQ(serials, (std::vector<std::uint64_t>{1, 3, 2, 0, 4}));
}

TEST(InFlight, HoldsNoMoreThanItsLimit) {
  InFlight packets(64, 640);
  int held = 0;
  for (; !packets.is_full(); ++held) packets.push({.bytes = packets.take_buffer()});
  EXPECT_EQ(held, 10);
  packets.give_back(packets.pop().bytes);
  EXPECT_FALSE(packets.is_full());
}

}  // namespace
}  // namespace godwit::netlab
