#include "chase/point.hpp"

#include <algorithm>

namespace godwit::bench {
namespace {

constexpr std::uint64_t kDepth = 64;
constexpr std::size_t kManyInFlight = 64;

void add(std::vector<Point>& points, const Point& point) {
  if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(point);
}

// One depth and two loads for every fleet; with 4 nodes the other depths and loads, too.
void add_usual(std::vector<Point>& points, const Point& fleet) {
  Point point = fleet;
  for (const std::size_t in_flight : {std::size_t{1}, kManyInFlight}) {
    point.depth = kDepth;
    point.in_flight = in_flight;
    add(points, point);
  }
  if (fleet.nodes != 4) return;
  for (const std::uint64_t depth : {1, 8, 512, 4096}) {
    point.depth = depth;
    point.in_flight = 1;
    add(points, point);
  }
  for (const std::size_t in_flight : {8, 1024}) {
    point.depth = kDepth;
    point.in_flight = in_flight;
    add(points, point);
  }
}

void add_all(std::vector<Point>& points, const Point& fleet) {
  for (std::uint64_t depth = 1; depth <= 4096; depth *= 4) {
    for (std::size_t in_flight = 1; in_flight <= 1024; in_flight *= 4) {
      add(points, {fleet.transport, fleet.nodes, depth, in_flight});
    }
  }
}

}  // namespace

std::vector<Point> points_of(Extent extent) {
  std::vector<Point> points;
  for (const auto transport : {LocalTransport::shm, LocalTransport::tcp}) {
    for (const std::size_t nodes : {1, 2, 4, 8}) {
      const Point fleet{.transport = transport, .nodes = nodes};
      if (extent == Extent::full) {
        add_all(points, fleet);
      } else if (extent == Extent::usual) {
        add_usual(points, fleet);
      } else if (nodes == 4) {
        add(points, {transport, nodes, kDepth, 1});
        add(points, {transport, nodes, kDepth, kManyInFlight});
      }
    }
  }
  return points;
}

}  // namespace godwit::bench
