#include "transport/transport.hpp"

#include <gtest/gtest.h>

#include "common/gpu.hpp"
#include "common/ranks.hpp"
#include "transport/medium.hpp"

namespace gallery::transport {
namespace {

constexpr Options kOptions{.particles = 6000};

Dose simulate_on(godwit::Rank ranks, int workers = 1) {
  const Options options{.particles = kOptions.particles, .workers = workers};
  return on_ranks(ranks, [&](godwit::Group& group) { return simulate(group, options); });
}

TEST(Transport, LeavesTheSameDoseOnAnyNumberOfRanks) {
  const Dose alone = simulate_on(1);
  EXPECT_EQ(alone.hops, 0U);
  for (const godwit::Rank ranks : {2, 3, 4, 7}) {
    const Dose together = simulate_on(ranks);
    EXPECT_EQ(together.cells, alone.cells) << ranks;
    EXPECT_EQ(together.escaped, alone.escaped) << ranks;
    EXPECT_GT(together.hops, 0U);
  }
}

TEST(Transport, LeavesTheSameDoseWithAnyNumberOfThreads) {
  EXPECT_EQ(simulate_on(2, 3).cells, simulate_on(1).cells);
}

TEST(Transport, LeavesTheSameDoseOnAGpu) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU";
  const Options options{.particles = kOptions.particles, .gpu = true};
  const auto body = [&](godwit::Group& group) { return simulate(group, options); };
  EXPECT_EQ(on_ranks(4, body).cells, simulate_on(1).cells);
}

TEST(Transport, LosesNoEnergyAndFindsNone) {
  const Dose dose = simulate_on(3);
  EXPECT_GT(dose.stayed(), 0U);
  EXPECT_GT(dose.escaped, 0U);
  EXPECT_EQ(dose.stayed() + dose.escaped, energy_of(kOptions));
}

// In the shadow of a lead pillar there is less than at the same distance beside it.
TEST(Transport, CastsShadowsBehindLead) {
  const Options options{.particles = 60'000};  // enough that chance does not matter
  const Dose dose = on_ranks(2, [&](godwit::Group& group) { return simulate(group, options); });
  const auto around = [&](int x, int y) {
    std::uint64_t sum = 0;
    for (int j = -3; j < 3; ++j) {
      for (int i = -3; i < 3; ++i) {
        for (int z = kSlab; z < 16 - kSlab; ++z) {
          const Cell cell{static_cast<std::int16_t>(x + i), static_cast<std::int16_t>(y + j),
                          static_cast<std::int16_t>(z)};
          sum += dose.cells[static_cast<std::size_t>(grid().index_of(cell))];
        }
      }
    }
    return sum;
  };
  EXPECT_GT(around(54, 14), 2 * around(34, 14));
}

}  // namespace
}  // namespace gallery::transport
