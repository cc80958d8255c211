// Grid: space as blocks of cells. Ranks own blocks; how many ranks there are changes who owns a
// block, and nothing else: that is why results do not depend on it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/split.hpp"
#include "common/vec3.hpp"
#include "godwit/kernel.hpp"

namespace gallery {

// One cell of a grid, by its place along each axis. Small, since items carry it.
struct Cell {
  std::int16_t x = 0;
  std::int16_t y = 0;
  std::int16_t z = 0;
};

struct Grid {
  Cell blocks = {};     // how many, along each axis
  int block_cells = 1;  // cells along the edge of a block
  Vec3 low = {};        // the corner
  float edge = 1;       // of a cell

  [[nodiscard]] GODWIT_KERNEL constexpr int block_count() const {
    return blocks.x * blocks.y * blocks.z;
  }
  [[nodiscard]] GODWIT_KERNEL constexpr int cells_per_block() const {
    return block_cells * block_cells * block_cells;
  }
  [[nodiscard]] GODWIT_KERNEL bool contains(Cell cell) const {
    return cell.x >= 0 && cell.y >= 0 && cell.z >= 0 && cell.x < blocks.x * block_cells &&
           cell.y < blocks.y * block_cells && cell.z < blocks.z * block_cells;
  }
  [[nodiscard]] GODWIT_KERNEL Cell cell_at(Vec3 position) const {
    return {along(position.x - low.x), along(position.y - low.y), along(position.z - low.z)};
  }
  [[nodiscard]] GODWIT_KERNEL int block_of(Cell cell) const {
    return (cell.z / block_cells * blocks.y + cell.y / block_cells) * blocks.x +
           cell.x / block_cells;
  }
  // Cells are counted block by block: those of a rank's blocks are one run.
  [[nodiscard]] GODWIT_KERNEL int index_of(Cell cell) const {
    const int n = block_cells;
    return block_of(cell) * n * n * n + (cell.z % n * n + cell.y % n) * n + cell.x % n;
  }
  [[nodiscard]] GODWIT_KERNEL Cell first_cell_of(int block) const {
    return {static_cast<std::int16_t>(block % blocks.x * block_cells),
            static_cast<std::int16_t>(block / blocks.x % blocks.y * block_cells),
            static_cast<std::int16_t>(block / (blocks.x * blocks.y) * block_cells)};
  }

 private:
  // What is far outside is as good as just outside.
  [[nodiscard]] GODWIT_KERNEL std::int16_t along(float distance) const {
    const float at = std::floor(distance / edge);
    return static_cast<std::int16_t>(at < -1 ? -1.0F : at > 32000 ? 32000.0F : at);
  }
};

// Which blocks a rank owns.
GODWIT_KERNEL inline Split split_blocks(const Grid& grid, godwit::Rank ranks) {
  return {.count = grid.block_count(), .ranks = ranks};
}

// Where a ray leaves a cell: how far from its origin, and into which cell.
struct Exit {
  float distance = 0;
  Cell next = {};
};

// From the ray and the cell alone, so that it is the same number on whichever rank it is computed.
GODWIT_KERNEL inline Exit leave(const Grid& grid, Cell cell, Vec3 origin, Vec3 direction) {
  const auto wall = [&](int index, float low, float from, float speed) {
    if (speed == 0) return 1e30F;
    return (low + static_cast<float>(index + (speed > 0 ? 1 : 0)) * grid.edge - from) / speed;
  };
  const auto step = [](std::int16_t at, float speed) {
    return static_cast<std::int16_t>(speed > 0 ? at + 1 : at - 1);
  };
  const float x = wall(cell.x, grid.low.x, origin.x, direction.x);
  const float y = wall(cell.y, grid.low.y, origin.y, direction.y);
  const float z = wall(cell.z, grid.low.z, origin.z, direction.z);
  Exit exit{.distance = x, .next = cell};
  if (y < exit.distance) exit.distance = y;
  if (z < exit.distance) exit.distance = z;
  if (exit.distance == x) {
    exit.next.x = step(cell.x, direction.x);
  } else if (exit.distance == y) {
    exit.next.y = step(cell.y, direction.y);
  } else {
    exit.next.z = step(cell.z, direction.z);
  }
  return exit;
}

}  // namespace gallery
