// More than 32 bits can count the bytes of, from one rank to another in one round.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "base/fail.hpp"
#include "base/random.hpp"
#include "forward/process/ranks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

struct Brick {
  std::uint64_t id = 0;
  std::uint64_t filling[7] = {};
};
static_assert(sizeof(Brick) == 64);

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kBytes = 2 * kGiB + kGiB / 4;  // more than 31 bits
constexpr std::uint64_t kBricks = kBytes / sizeof(Brick);

// Rank 0 sends them all to rank 1.
Status move_bricks(Group& group) {
  GODWIT_TRY(auto exchange, Exchange<Brick>::create(group, {.queue_bytes = 3 * kGiB}));
  std::uint64_t wanted = 0;
  for (std::uint64_t i = 0; i < kBricks; ++i) {
    wanted += mix64(i);
    if (group.rank() == 0) exchange.emit(Brick{.id = i, .filling = {~i}}, 1);
  }
  GODWIT_TRY(const Round round, exchange.advance());
  if (round.held_back != 0) {
    return fail(ErrorCode::internal, "{} items had no room", round.held_back);
  }
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  for (const Brick& brick : exchange.incoming<Brick>()) {
    ++count;
    sum += mix64(~brick.filling[0]);
  }
  const bool all = count == kBricks && sum == wanted && round.incoming == kBricks;
  if (group.rank() == 1 ? !all : count != 0) {
    return fail(ErrorCode::internal, "rank {} got {} of {} items, or others", group.rank(), count,
                kBricks);
  }
  return {};
}

// A line of /proc/meminfo.
std::uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  }
  return 0;
}

class LargeRoundLong : public testing::Test {
 protected:
  // Over tcp both sides have all of it at once.
  void SetUp() override {
    constexpr std::uint64_t kNeeded = 2 * kBytes + kGiB;
    if (available_bytes() < kNeeded) {
      GTEST_SKIP() << "this takes " << (kNeeded >> 20U) << " MiB of memory, and "
                   << (available_bytes() >> 20U) << " MiB are available";
    }
  }
};

TEST_F(LargeRoundLong, MovesMoreThanTwoGiBBetweenThreads) {
  const Status done = run_ranks(2, move_bricks);
  EXPECT_TRUE(done) << done.error().message;
}

TEST_F(LargeRoundLong, MovesMoreThanTwoGiBBetweenProcessesOverShm) {
  RankProcesses(2, Way::shm, move_bricks).expect_success();
}

TEST_F(LargeRoundLong, MovesMoreThanTwoGiBBetweenProcessesOverTcp) {
  RankProcesses(2, Way::tcp, move_bricks).expect_success();
}

}  // namespace
}  // namespace godwit::forward
