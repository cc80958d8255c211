// A maze that no node has as a whole: what the nodes' code and the program share of it.
#pragma once

#include <cstdint>

#include "godwit/kernel.hpp"
#include "godwit/struct.hpp"

namespace maze {

// Walls follow from the seed. One gets in at the upper left and out at the lower right.
struct Maze {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] bool is_open(std::uint32_t x, std::uint32_t y) const {
    if (x >= width || y >= height) return false;  // also left of 0 and above it
    if (is_way_out(x, y) || (x == 0 && y == 0)) return true;
    std::uint64_t mixed = (std::uint64_t{y} << 32U | x) + seed * 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return (mixed >> 32U) % 100 < 68;
  }
  [[nodiscard]] bool is_way_out(std::uint32_t x, std::uint32_t y) const {
    return x == width - 1 && y == height - 1;
  }
  // The rows that a node has, and whose a row is.
  [[nodiscard]] std::uint32_t first_row(godwit::Rank node, godwit::Rank nodes) const {
    return static_cast<std::uint32_t>(std::uint64_t{height} * static_cast<std::uint64_t>(node) /
                                      static_cast<std::uint64_t>(nodes));
  }
  [[nodiscard]] godwit::Rank owner(std::uint32_t y, godwit::Rank nodes) const {
    auto node =
        static_cast<godwit::Rank>(std::uint64_t{y} * static_cast<std::uint64_t>(nodes) / height);
    while (first_row(node + 1, nodes) <= y) ++node;
    return node;
  }
};
GODWIT_STRUCT(Maze, width, height, seed);

// Somebody has come to a cell.
struct Visit {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t steps = 0;
};
GODWIT_STRUCT(Visit, x, y, steps);

// Calls go(x, y) for the cells around one; those outside are no matter.
template <class Go>
void each_neighbour(std::uint32_t x, std::uint32_t y, Go&& go) {
  go(x + 1, y);
  go(x - 1, y);
  go(x, y + 1);
  go(x, y - 1);
}

}  // namespace maze
