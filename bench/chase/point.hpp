// What is measured of chases: where, how long, how many at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "floors/sample.hpp"
#include "godwit/fleet.hpp"

namespace godwit::bench {

struct Point {
  LocalTransport transport = LocalTransport::tcp;
  std::size_t nodes = 4;
  std::uint64_t depth = 64;   // steps of one chase
  std::size_t in_flight = 1;  // chases
  friend bool operator==(const Point&, const Point&) = default;
};

enum class Column : std::uint8_t {
  get,        // the client asks for each element and waits: one chase in flight, whatever the point
  pipelined,  // the same with as many chases in flight as the point says
  ucp_am,     // servers made for it that pass the chase on
  godwit,     // ops::chase, travelling
  many,       // ops::chase_many, all in flight in one call
  own,        // loads from the client's own memory
  mapped,     // ops::chase, through the mappings
};
inline constexpr std::size_t kColumns = 7;

// A point's samples; a chase is one round trip.
struct Line {
  Point point;
  std::array<std::optional<floors::Sample>, kColumns> samples = {};

  [[nodiscard]] const std::optional<floors::Sample>& operator[](Column column) const {
    return samples[static_cast<std::size_t>(column)];
  }
  // Wall time over steps made, all in flight counted.
  [[nodiscard]] std::optional<double> us_per_step(Column column) const {
    const auto& sample = (*this)[column];
    if (!sample || sample->rate_per_s <= 0) return std::nullopt;
    return 1e6 / sample->rate_per_s / static_cast<double>(point.depth);
  }
  // How many times as many chases `subject` ends in the same time.
  [[nodiscard]] std::optional<double> speedup(Column subject, Column floor) const {
    const auto ours = us_per_step(subject);
    const auto theirs = us_per_step(floor);
    if (!ours || !theirs) return std::nullopt;
    return *theirs / *ours;
  }
};

enum class Extent : std::uint8_t { quick, usual, full };
// Those of one fleet stand together.
[[nodiscard]] std::vector<Point> points_of(Extent extent);

}  // namespace godwit::bench
