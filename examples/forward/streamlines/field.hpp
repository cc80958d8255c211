// The vector field: samples on a grid, in bricks. A rank keeps the bricks of its blocks. Each brick
// reaches a little beyond its block (the halo), so that a step that begins in the block finds all
// it needs in one brick.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/grid.hpp"
#include "common/vec3.hpp"
#include "godwit/kernel.hpp"

namespace gallery::streamlines {

// A function, since a GPU has no constants of the host.
GODWIT_KERNEL constexpr Grid grid() {
  return {.blocks = {4, 4, 4}, .block_cells = 24, .low = {-3, -3, -3}, .edge = 0.0625F};
}
inline constexpr int kHalo = 2;                                        // cells
inline constexpr int kBrickEdge = grid().block_cells + 1 + 2 * kHalo;  // samples
inline constexpr int kBrickSamples = kBrickEdge * kBrickEdge * kBrickEdge;

// The field as a kernel sees it.
struct Field {
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  const Vec3* samples = nullptr;  // brick after brick

  [[nodiscard]] GODWIT_KERNEL bool has(int block) const {
    return block >= first_block && block < first_block + blocks;
  }

  // Between the eight samples around `at`, which lies in the block or its halo.
  [[nodiscard]] GODWIT_KERNEL Vec3 sample(int block, Vec3 at) const {
    const Vec3* const brick = samples + (block - first_block) * kBrickSamples;
    const Cell origin = grid().first_cell_of(block);
    const Place x = place(at.x, grid().low.x, origin.x);
    const Place y = place(at.y, grid().low.y, origin.y);
    const Place z = place(at.z, grid().low.z, origin.z);
    const auto row = [&](int j, int k) {
      const Vec3* const cell = brick + ((z.index + k) * kBrickEdge + y.index + j) * kBrickEdge;
      return mix(cell[x.index], cell[x.index + 1], x.part);
    };
    return mix(mix(row(0, 0), row(1, 0), y.part), mix(row(0, 1), row(1, 1), y.part), z.part);
  }

 private:
  // Which sample of the brick is below, and how far it is from there to the next.
  struct Place {
    int index = 0;
    float part = 0;
  };
  [[nodiscard]] GODWIT_KERNEL static Place place(float at, float low, int first_cell) {
    const float cells = (at - low) / grid().edge;
    const float below = std::floor(cells);
    const int index = static_cast<int>(below) - first_cell + kHalo;
    const int last = kBrickEdge - 2;
    return {index < 0 ? 0 : index > last ? last : index, cells - below};
  }
};

// The bricks that a rank keeps, one after the other.
std::vector<Vec3> make_bricks(const Split& blocks, godwit::Rank rank);

}  // namespace gallery::streamlines
