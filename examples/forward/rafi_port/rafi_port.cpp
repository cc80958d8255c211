// The program of docs/coming-from-rafi.md: walkers that hop between ranks until they are tired.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/atomics.hpp"
#include "common/need.hpp"
#include "common/random.hpp"
#include "godwit/exchange.hpp"

namespace {

constexpr std::uint32_t kWalkers = 100'000;  // of each rank
constexpr std::uint32_t kHops = 20;

struct Walker {
  std::uint32_t id = 0;
  std::uint32_t hops = 0;
};

struct Step {
  std::uint32_t* visits = nullptr;  // of this rank, by the hop

  template <class Out>
  GODWIT_KERNEL void operator()(Walker walker, Out& out) const {
    gallery::count(visits[walker.hops]);
    if (++walker.hops > kHops) return;
    gallery::Random random{.key = walker.id, .drawn = walker.hops};
    const float ranks = static_cast<float>(out.ranks());
    out.emit(walker, static_cast<godwit::Rank>(random.next() * ranks));
  }
};

std::uint64_t walk(godwit::Group& group) {
  auto walkers = gallery::need(godwit::Exchange<Walker>::create(group));
  std::vector<std::uint32_t> visits(kHops + 1);
  const auto first = static_cast<std::uint32_t>(group.rank()) * kWalkers;
  for (std::uint32_t i = 0; i < kWalkers; ++i) {
    walkers.emit(Walker{.id = first + i}, static_cast<godwit::Rank>(i) % group.ranks());
  }
  while (gallery::need(walkers.advance()).alive > 0) walkers.process(Step{visits.data()});

  std::uint64_t all = 0;
  for (const std::uint32_t count : visits) all += count;
  return all;
}

}  // namespace

int main() {
  constexpr godwit::Rank kRanks = 4;
  std::vector<std::uint64_t> visits(kRanks);
  const godwit::Status done =
      godwit::run_ranks(kRanks, [&](godwit::Group& group) -> godwit::Status {
        visits[static_cast<std::size_t>(group.rank())] = walk(group);
        return {};
      });
  if (!done) {
    std::fprintf(stderr, "forward_rafi_port: %s\n", done.error().message.c_str());
    return EXIT_FAILURE;
  }
  std::uint64_t all = 0;
  for (std::size_t rank = 0; rank < visits.size(); ++rank) {
    std::printf("rank %zu was visited %llu times\n", rank,
                static_cast<unsigned long long>(visits[rank]));
    all += visits[rank];
  }
  return all == std::uint64_t{kRanks} * kWalkers * (kHops + 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}
