// What a rank does, on CPU threads and on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ranks.hpp"
#include "transport/kernel.hpp"
#include "transport/transport.hpp"

namespace gallery::transport {

template <class Place>
Dose simulate_at(const Place& place, godwit::Group& group, const Options& options) {
  const godwit::Rank me = group.rank();
  const Split blocks = split_blocks(grid(), group.ranks());
  const std::int64_t first_cell = blocks.first(me) * grid().cells_per_block();
  const std::int64_t mine = blocks.size(me) * grid().cells_per_block();

  // This rank's part of the building, the dose there, and what escaped from anywhere.
  auto materials = put(place, make_medium(blocks, me));
  auto cells = put(place, std::vector<std::uint64_t>(static_cast<std::size_t>(mine)));
  auto escaped = put(place, std::vector<std::uint64_t>(1));

  auto exchange =
      make_exchange<Particle, godwit::Reduced<Deposit>, godwit::Reduced<Escape>>(place, group);
  exchange.template reduce<Deposit>(AddDeposit{.cells = cells.data(), .first_cell = first_cell});
  exchange.template reduce<Escape>(AddEscape{.energy = escaped.data()});
  const Fly fly{.medium = {.first_cell = first_cell, .cells = mine, .materials = materials.data()},
                .blocks = blocks};

  // Every rank brings its share of the particles to the source, some at a time.
  const Split ids{.count = options.particles, .ranks = group.ranks()};
  const std::int64_t batches = options.particles / items_at_once<Place>(group) + 1;
  std::uint64_t processed = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t from = ids.size(me) * batch / batches;
    const std::int64_t to = ids.size(me) * (batch + 1) / batches;
    const auto first_id = static_cast<std::uint32_t>(ids.first(me) + from);
    launch(place, exchange, to - from, Radiate{source(), first_id, blocks});
    processed += need(exchange.run(fly)).processed;
  }

  // A particle is processed once where it is born, and once for every time it comes to a rank.
  return {.cells = gather(group, cells.fetch()),
          .escaped = escaped.fetch()[0],
          .hops = sum(group, processed) - static_cast<std::uint64_t>(options.particles)};
}

}  // namespace gallery::transport
