// Deterministic exchanges: the same items in the same order, however the work was done.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/fail.hpp"
#include "forward/walks_for_test.hpp"
#include "godwit/exchange.hpp"

namespace godwit::forward {
namespace {

struct Particle {
  std::uint64_t id = 0;
  std::uint32_t step = 0;
  float energy = 0;
};
struct Tally {
  float energy = 0;
};

// Float sums, which depend on the order of their terms, and the order itself, hashed.
struct Sums {
  std::vector<float> tallies;
  std::vector<std::uint64_t> order;
  friend bool operator==(const Sums&, const Sums&) = default;
};

Sums transport(Rank ranks, const ExchangeOptions& options) {
  Sums result{std::vector<float>(static_cast<std::size_t>(ranks)),
              std::vector<std::uint64_t>(static_cast<std::size_t>(ranks))};
  const Walk walk{.ranks = ranks};
  const Status done = run_ranks(ranks, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, (Exchange<Particle, Reduced<Tally>>::create(group, options)));
    const auto me = static_cast<std::size_t>(group.rank());
    exchange.template reduce<Tally>(
        [&](const Tally& tally) { result.tallies[me] += tally.energy; });
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t id = Walk::seed_id(group.rank(), i);
      exchange.emit(Particle{.id = id, .energy = static_cast<float>(id % 1000) * 1.1F},
                    walk.destination(id, 0, group.rank()));
    }
    for (;;) {
      GODWIT_TRY(const Round round, exchange.advance());
      if (round.alive == 0) return {};
      for (const Particle& particle : exchange.template incoming<Particle>()) {
        result.order[me] = mix64(result.order[me] + particle.id);
      }
      exchange.process([&walk](const Particle& particle, auto& out) {
        out.emit(Tally{particle.energy * 0.3F}, static_cast<Rank>(particle.id % 2));
        for (std::uint32_t i = 0; i < walk.followers(particle.id, particle.step); ++i) {
          const std::uint64_t id = Walk::follower_id(particle.id, particle.step, i);
          out.emit(Particle{id, particle.step + 1, std::sqrt(particle.energy)},
                   walk.destination(id, particle.step + 1, out.rank()));
        }
      });
    }
  });
  EXPECT_TRUE(done) << done.error().message;
  return result;
}

TEST(DeterministicExchange, IsTheSameInEveryRunWithAnyWorkersAndChunks) {
  for (const Rank ranks : {2, 3, 5}) {
    const Sums first = transport(ranks, {.deterministic = true});
    EXPECT_GT(first.tallies[0], 0);
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(transport(ranks, {.deterministic = true}), first);
    }
    EXPECT_EQ(transport(ranks, {.chunk_bytes = 1024, .deterministic = true}), first);
    EXPECT_EQ(transport(ranks, {.chunk_bytes = 1024, .workers = 2, .deterministic = true}), first);
    EXPECT_EQ(transport(ranks, {.chunk_bytes = 2048, .workers = 5, .deterministic = true}), first);
  }
}

struct Spark {
  std::uint64_t id = 0;
  std::uint32_t step = 0;
};

// Particles become particles and sparks, and so do sparks: in which order one kind is processed
// beside the other decides in which order both arrive next.
std::vector<std::uint64_t> cascade(Rank ranks, const ExchangeOptions& options) {
  std::vector<std::uint64_t> order(static_cast<std::size_t>(ranks));
  const Status done = run_ranks(ranks, [&](Group& group) -> Status {
    GODWIT_TRY(auto exchange, (Exchange<Particle, Spark>::create(group, options)));
    std::uint64_t& mine = order[static_cast<std::size_t>(group.rank())];
    const Walk walk{.ranks = ranks};
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::uint64_t id = Walk::seed_id(group.rank(), i);
      if (i % 3 == 0) {
        exchange.emit(Spark{.id = id}, walk.destination(id, 0, group.rank()));
      } else {
        exchange.emit(Particle{.id = id}, walk.destination(id, 0, group.rank()));
      }
    }
    for (;;) {
      GODWIT_TRY(const Round round, exchange.advance());
      if (round.alive == 0) return {};
      for (const auto& one : exchange.template incoming<Particle>()) mine = mix64(mine + one.id);
      for (const auto& one : exchange.template incoming<Spark>()) mine = mix64(mine ^ one.id);
      exchange.process([&walk](const auto& one, auto& out) {
        if (one.step == 4) return;
        const std::uint32_t step = one.step + 1;
        const std::uint64_t id = Walk::follower_id(one.id, step, 0);
        out.emit(Particle{.id = id, .step = step}, walk.destination(id, step, out.rank()));
        if (id % 2 == 0) out.emit(Spark{id, step}, walk.destination(~id, step, out.rank()));
      });
    }
  });
  EXPECT_TRUE(done) << done.error().message;
  return order;
}

TEST(DeterministicExchange, OfSeveralKindsIsTheSameWithAnyWorkersAndChunks) {
  for (const Rank ranks : {1, 3}) {
    const std::vector<std::uint64_t> first = cascade(ranks, {.deterministic = true});
    for (const std::size_t chunk_bytes : {1024U, 4096U, 65536U}) {
      for (const std::size_t workers : {1U, 2U, 5U}) {
        SCOPED_TRACE(testing::Message() << chunk_bytes << " bytes, " << workers << " workers");
        EXPECT_EQ(
            cascade(ranks, {.chunk_bytes = chunk_bytes, .workers = workers, .deterministic = true}),
            first);
      }
    }
  }
}

TEST(DeterministicExchange, BringsWhatTheHostEmitsAfterAKernelBehindWhatTheKernelDid) {
  for (const std::size_t workers : {1U, 2U, 5U}) {
    const Status done = run_ranks(1, [&](Group& group) -> Status {
      GODWIT_TRY(auto exchange,
                 Exchange<Particle>::create(
                     group, {.chunk_bytes = 1024, .workers = workers, .deterministic = true}));
      constexpr std::uint64_t kParticles = 1000;
      for (std::uint64_t id = 0; id < kParticles; ++id) exchange.emit(Particle{.id = id}, 0);
      for (int round = 0; round < 3; ++round) {
        GODWIT_TRY(const Round arrived, exchange.advance());
        EXPECT_EQ(arrived.incoming, kParticles);
        std::uint64_t next = 0;
        for (const auto& one : exchange.template incoming<Particle>()) EXPECT_EQ(one.id, next++);
        exchange.process([](const Particle& one, auto& out) {
          if (one.id < kParticles - 10) out.emit(one, 0);
        });
        for (std::uint64_t id = kParticles - 10; id < kParticles; ++id) {
          exchange.emit(Particle{.id = id}, 0);
        }
      }
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
  }
}

TEST(DeterministicExchange, KeepsTheOrderOfEverySource) {
  const Status done = run_ranks(3, [](Group& group) -> Status {
    GODWIT_TRY(auto exchange,
               Exchange<Particle>::create(group, {.chunk_bytes = 1024, .deterministic = true}));
    for (std::uint64_t i = 0; i < 1000; ++i) {
      exchange.emit(Particle{.id = static_cast<std::uint64_t>(group.rank()) * 1000 + i}, 2);
    }
    GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
    std::uint64_t next = 0;
    for (const Particle& particle : exchange.incoming<Particle>()) EXPECT_EQ(particle.id, next++);
    EXPECT_EQ(next, group.rank() == 2 ? 3000U : 0U);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

}  // namespace
}  // namespace godwit::forward
