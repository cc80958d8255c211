// What a rank does, on CPU threads and on a GPU.
#pragma once

#include <algorithm>

#include "common/ranks.hpp"
#include "streamlines/streamlines.hpp"

namespace gallery::streamlines {

template <class Place>
Streamlines trace_at(const Place& place, godwit::Group& group, const Options& options) {
  const godwit::Rank me = group.rank();
  const Split blocks = split_blocks(grid(), group.ranks());
  const Split lines{.count = options.lines, .ranks = group.ranks()};
  const auto steps = static_cast<std::uint32_t>(options.steps);

  // This rank's part of the field, the lines that it keeps, and where they begin.
  auto samples = put(place, make_bricks(blocks, me));
  auto points = put(place, std::vector<Point>(static_cast<std::size_t>(lines.size(me)) * steps));
  std::vector<Particle> seeds;
  for (std::int64_t line = lines.first(me); line < lines.first(me + 1); ++line) {
    seeds.push_back(seed(static_cast<std::uint32_t>(line)));
  }
  auto particles = put(place, seeds);

  auto exchange = make_exchange<Particle, godwit::Reduced<Trail>>(place, group);
  exchange.template reduce<Trail>(
      KeepPoint{.points = points.data(), .first_line = lines.first(me), .steps = steps});
  launch(place, exchange, lines.size(me), Begin{.particles = particles.data(), .blocks = blocks});
  const Advect advect{.field = {.first_block = blocks.first(me),
                                .blocks = blocks.size(me),
                                .samples = samples.data()},
                      .blocks = blocks,
                      .lines = lines,
                      .steps = steps};
  const godwit::RunReport report = need(exchange.run(advect));

  // A particle is processed once where it begins, and once for every time it comes to a rank.
  Streamlines result{
      .points = gather(group, points.fetch()),
      .hops = sum(group, report.processed) - static_cast<std::uint64_t>(options.lines)};
  const auto is_there = [](const Point& point) { return point.speed >= 0; };
  result.taken = static_cast<std::uint64_t>(std::ranges::count_if(result.points, is_there));
  return result;
}

}  // namespace gallery::streamlines
