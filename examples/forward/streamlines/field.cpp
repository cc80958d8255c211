#include "streamlines/field.hpp"

#include "common/split.hpp"

namespace gallery::streamlines {
namespace {

// Around the z axis, and at the same time around the circle of radius 1: every line winds around
// one of the tori that lie in each other between the two.
Vec3 analytic(Vec3 at) {
  constexpr float kAround = 1.0F;
  constexpr float kThrough = 1.6180340F;  // turns that never meet: a line covers its torus
  const float flat = at.x * at.x + at.y * at.y;
  const float squared = flat + at.z * at.z;
  const Vec3 turn = kAround * Vec3{-at.y, at.x, 0};
  const Vec3 roll = kThrough * Vec3{at.x * at.z, at.y * at.z, (1 + at.z * at.z - flat) / 2};
  return (2 / (1 + 0.5F * squared)) * (turn + roll);
}

}  // namespace

std::vector<Vec3> make_bricks(const Split& blocks, godwit::Rank rank) {
  std::vector<Vec3> samples;
  samples.reserve(static_cast<std::size_t>(blocks.size(rank)) * kBrickSamples);
  for (std::int64_t block = blocks.first(rank); block < blocks.first(rank + 1); ++block) {
    const Cell origin = grid().first_cell_of(static_cast<int>(block));
    const auto at = [](float low, int cell, int i) {
      return low + grid().edge * static_cast<float>(cell + i - kHalo);
    };
    for (int k = 0; k < kBrickEdge; ++k) {
      for (int j = 0; j < kBrickEdge; ++j) {
        for (int i = 0; i < kBrickEdge; ++i) {
          samples.push_back(analytic({at(grid().low.x, origin.x, i), at(grid().low.y, origin.y, j),
                                      at(grid().low.z, origin.z, k)}));
        }
      }
    }
  }
  return samples;
}

}  // namespace gallery::streamlines
