#include "transport/transport.hpp"

#include <numeric>

#include "common/ranks.hpp"
#include "transport/kernel.hpp"

namespace gallery::transport {
namespace {

Particle born(std::uint32_t id) {
  Particle particle{.origin = source(), .id = id, .energy = kEnergy};
  particle.cell = grid().cell_at(particle.origin);
  scatter(particle);
  return particle;
}

}  // namespace

std::uint64_t Dose::stayed() const {
  return std::accumulate(cells.begin(), cells.end(), std::uint64_t{0});
}

std::uint64_t energy_of(const Options& options) {
  return std::uint64_t{kEnergy} * static_cast<std::uint64_t>(options.particles);
}

Dose simulate(godwit::Group& group, const Options& options) {
  const godwit::Rank me = group.rank();
  const Split blocks = split_blocks(grid(), group.ranks());
  const LocalMedium medium(me, group.ranks());

  const godwit::ExchangeOptions how{.workers = static_cast<std::size_t>(options.workers)};
  auto exchange =
      need(godwit::Exchange<Particle, godwit::Reduced<Deposit>, godwit::Reduced<Escape>>::create(
          group, how));
  std::vector<std::uint64_t> cells(static_cast<std::size_t>(medium.view().cells));
  std::uint64_t escaped = 0;
  exchange.reduce<Deposit>(
      AddDeposit{.cells = cells.data(), .first_cell = medium.view().first_cell});
  exchange.reduce<Escape>(AddEscape{.energy = &escaped});

  // Every rank brings its share of the particles to the source.
  const Split ids{.count = options.particles, .ranks = group.ranks()};
  for (std::int64_t id = ids.first(me); id < ids.first(me + 1); ++id) {
    const Particle particle = born(static_cast<std::uint32_t>(id));
    exchange.emit(particle, blocks.owner(grid().block_of(particle.cell)));
  }
  const Fly fly{.medium = medium.view(), .blocks = blocks};
  const godwit::RunReport report = need(exchange.run(fly));

  // A particle is processed once where it is born, and once for every time it comes to a rank.
  return {.cells = gather(group, cells),
          .escaped = escaped,
          .hops = sum(group, report.processed) - static_cast<std::uint64_t>(options.particles)};
}

}  // namespace gallery::transport
