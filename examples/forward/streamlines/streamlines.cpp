#include "streamlines/streamlines.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/ranks.hpp"

namespace gallery::streamlines {
namespace {

constexpr int kTori = 7;

// Lines begin on a few tori, around the axis.
Particle seed(std::uint32_t line) {
  constexpr float kGoldenAngle = 2.39996323F;
  const float torus = static_cast<float>(line % kTori) / (kTori - 1);
  const float radius = 0.37F + 0.53F * torus;
  const float around = kGoldenAngle * static_cast<float>(line);
  return {.position = {radius * std::cos(around), radius * std::sin(around), 0}, .line = line};
}

}  // namespace

Streamlines trace(godwit::Group& group, const Options& options) {
  const godwit::Rank me = group.rank();
  const Split blocks = split_blocks(grid(), group.ranks());
  const Split lines{.count = options.lines, .ranks = group.ranks()};
  const auto steps = static_cast<std::uint32_t>(options.steps);
  const LocalField field(me, group.ranks());

  const godwit::ExchangeOptions how{.workers = static_cast<std::size_t>(options.workers)};
  auto exchange = need(godwit::Exchange<Particle, godwit::Reduced<Trail>>::create(group, how));
  std::vector<Point> mine(static_cast<std::size_t>(lines.size(me)) * steps);
  exchange.reduce<Trail>(
      KeepPoint{.points = mine.data(), .first_line = lines.first(me), .steps = steps});

  for (std::int64_t line = lines.first(me); line < lines.first(me + 1); ++line) {
    const Particle particle = seed(static_cast<std::uint32_t>(line));
    exchange.emit(particle, blocks.owner(grid().block_of(grid().cell_at(particle.position))));
  }
  const Advect advect{.field = field.view(), .blocks = blocks, .lines = lines, .steps = steps};
  const godwit::RunReport report = need(exchange.run(advect));

  // A particle is processed once where it begins, and once for every time it comes to a rank.
  Streamlines result{
      .points = gather(group, mine),
      .hops = sum(group, report.processed) - static_cast<std::uint64_t>(options.lines)};
  const auto is_there = [](const Point& point) { return point.speed >= 0; };
  result.taken = static_cast<std::uint64_t>(std::ranges::count_if(result.points, is_there));
  return result;
}

bool same(const Streamlines& a, const Streamlines& b) {
  return a.points.size() == b.points.size() &&
         std::memcmp(a.points.data(), b.points.data(), a.points.size() * sizeof(Point)) == 0;
}

}  // namespace gallery::streamlines
