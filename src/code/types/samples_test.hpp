// Structs that several tests send.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "godwit/mobile/std.hpp"

namespace sample {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
GODWIT_STRUCT(Point, x, y);

struct Particle {
  Point at;
  std::uint32_t id = 0;
  bool alive = false;
  std::int16_t spin[2] = {};
  friend bool operator==(const Particle&, const Particle&) = default;
};
GODWIT_STRUCT(Particle, at, id, alive, spin);

struct alignas(16) Wide {
  std::array<float, 4> lanes{};
  friend bool operator==(const Wide&, const Wide&) = default;
};
GODWIT_STRUCT(Wide, lanes);

struct Report {
  std::string title;
  std::vector<Point> path;
  std::map<std::string, std::int64_t> counts;
  std::optional<double> mean;
  std::tuple<bool, std::uint8_t> flags;
  std::vector<std::byte> raw;
  friend bool operator==(const Report&, const Report&) = default;
};
GODWIT_STRUCT(Report, title, path, counts, mean, flags, raw);

inline Report full_report() {
  return {.title = "night \"shift\"",
          .path = {{1, 2}, {-3.5, 1e300}},
          .counts = {{"a", -1}, {"long key that needs a length byte", 1LL << 60}},
          .mean = 0.25,
          .flags = {true, 200},
          .raw = {std::byte{0}, std::byte{255}}};
}

}  // namespace sample
