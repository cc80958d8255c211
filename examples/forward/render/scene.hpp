// The scene: a knot of thousands of spheres over a round plate, cut into blocks. A rank keeps what
// touches its blocks, and knows nothing of the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "common/grid.hpp"
#include "common/vec3.hpp"
#include "godwit/kernel.hpp"

namespace gallery::render {

inline constexpr int kSpheres = 7000;
// A function, since a GPU has no constants of the host.
GODWIT_KERNEL constexpr Grid grid() {
  return {.blocks = {6, 6, 3}, .block_cells = 8, .low = {-12, -12, 0}, .edge = 0.5F};
}

struct Sphere {
  Vec3 centre = {};
  float radius = 0;
  Vec3 colour = {};
  float shine = 0;  // how much is reflected as by a mirror, seen from the front
};

// What a ray meets first.
struct Hit {
  float distance = 1e30F;
  Vec3 normal = {};
  Vec3 colour = {};
  float shine = -1;  // below 0: nothing
};

// The scene as a kernel sees it: plain numbers and pointers, so that it can lie in a GPU's memory.
struct Scene {
  std::int64_t first_cell = 0;  // of this rank's cells, by Grid::index_of
  std::int64_t cells = 0;
  const std::uint32_t* begin = nullptr;  // of each cell's part of `listed`, and the last one's end
  const std::uint32_t* listed = nullptr;
  const Sphere* spheres = nullptr;

  [[nodiscard]] GODWIT_KERNEL bool has(Cell cell) const {
    const std::int64_t local = grid().index_of(cell) - first_cell;
    return local >= 0 && local < cells;
  }
  // Within the cell, whose end along the ray is `limit`: what lies beyond it is met in a cell of
  // its own, perhaps by another rank.
  [[nodiscard]] GODWIT_KERNEL Hit nearest(Cell cell, Vec3 origin, Vec3 direction,
                                          float limit) const;
};

// The part of the scene that a rank keeps.
struct LocalScene {
  std::int64_t first_cell = 0;
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> listed;
  std::vector<Sphere> spheres;

  [[nodiscard]] std::int64_t cells() const { return static_cast<std::int64_t>(begin.size()) - 1; }
};
LocalScene make_scene(godwit::Rank rank, godwit::Rank ranks);

inline constexpr float kPlateHeight = 0.25F;
inline constexpr float kPlateRadius = 11.5F;
inline constexpr float kTooNear = 1e-3F;  // a ray does not meet what it has just left

GODWIT_KERNEL inline void meet_sphere(const Sphere& sphere, Vec3 origin, Vec3 direction, Hit& hit) {
  const Vec3 to = sphere.centre - origin;
  const float middle = dot(to, direction);
  const Vec3 miss = to - middle * direction;
  const float inside = sphere.radius * sphere.radius - dot(miss, miss);
  if (inside < 0) return;
  const float distance = middle - std::sqrt(inside);
  if (distance < kTooNear || distance >= hit.distance) return;
  const Vec3 normal = (1 / sphere.radius) * (origin + distance * direction - sphere.centre);
  hit = {distance, normal, sphere.colour, sphere.shine};
}

GODWIT_KERNEL inline void meet_plate(Vec3 origin, Vec3 direction, Hit& hit) {
  const float distance = (kPlateHeight - origin.z) / direction.z;
  if (!(distance > kTooNear && distance < hit.distance)) return;
  const Vec3 at = origin + distance * direction;
  const float r = std::sqrt(at.x * at.x + at.y * at.y);
  if (r > kPlateRadius) return;
  const float groove = r - std::floor(r) < 0.06F ? 0.35F : 0.55F;
  const float up = direction.z < 0 ? 1.0F : -1.0F;
  hit = {distance, {0, 0, up}, groove * Vec3{1, 0.97F, 0.93F}, 0.05F};
}

GODWIT_KERNEL inline Hit Scene::nearest(Cell cell, Vec3 origin, Vec3 direction, float limit) const {
  Hit hit{.distance = limit};
  const std::int64_t local = grid().index_of(cell) - first_cell;
  for (std::uint32_t i = begin[local]; i < begin[local + 1]; ++i) {
    meet_sphere(spheres[listed[i]], origin, direction, hit);
  }
  if (cell.z == 0) meet_plate(origin, direction, hit);
  return hit;
}

}  // namespace gallery::render
