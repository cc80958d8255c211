#include "render/scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/random.hpp"
#include "common/split.hpp"

namespace gallery::render {
namespace {

// A trefoil: around the middle twice while it goes around its own ring three times.
Vec3 knot(float t) {
  const float ring = 6.1F + 2.5F * std::cos(3 * t);
  return {ring * std::cos(2 * t), ring * std::sin(2 * t), 4.9F + 2.5F * std::sin(3 * t)};
}

// Sphere i of all: on the skin of the knot, as seeds sit on a sunflower, a golden angle apart.
Sphere make_sphere(int i) {
  constexpr float kGoldenAngle = 2.39996323F;
  constexpr std::array kColours{Vec3{0.02F, 0.10F, 0.42F}, Vec3{0.01F, 0.32F, 0.50F},
                                Vec3{0.05F, 0.50F, 0.35F}, Vec3{0.85F, 0.62F, 0.10F},
                                Vec3{0.90F, 0.30F, 0.06F}, Vec3{0.70F, 0.05F, 0.12F},
                                Vec3{0.30F, 0.03F, 0.35F}};
  Random random{.key = static_cast<std::uint64_t>(i)};
  const float part = static_cast<float>(i) / kSpheres;
  const float t = 2 * kPi * part;
  const Vec3 along = normalize(knot(t + 0.01F) - knot(t - 0.01F));
  const Vec3 side = normalize(cross(along, {0, 0, 1}));
  const Vec3 up = cross(side, along);
  const float around = kGoldenAngle * static_cast<float>(i);
  const Vec3 out = std::cos(around) * side + std::sin(around) * up;
  const float swell = 1 + 0.22F * std::sin(9 * t);

  Sphere sphere;
  sphere.radius = (0.14F + 0.10F * random.next()) * swell;
  sphere.centre = knot(t) + 1.25F * swell * out;
  const float at = static_cast<float>(kColours.size()) * part + 0.5F * std::sin(around);
  const auto below = static_cast<int>(std::floor(at));
  const auto colour = [&](int n) { return kColours[static_cast<std::size_t>((n + 7) % 7)]; };
  sphere.colour = mix(colour(below), colour(below + 1), at - std::floor(at));
  sphere.shine = 0.05F;
  if (random.next() < 0.15F) {  // metal, which tints what it reflects
    sphere.colour = mix(sphere.colour, {1, 0.95F, 0.85F}, 0.6F);
    sphere.shine = 0.85F;
  }
  return sphere;
}

bool touches(const Sphere& sphere, Cell cell) {
  const auto gap = [](float at, float low) { return at - std::clamp(at, low, low + grid().edge); };
  const Vec3 low =
      grid().low + grid().edge * Vec3{static_cast<float>(cell.x), static_cast<float>(cell.y),
                                      static_cast<float>(cell.z)};
  const Vec3 apart{gap(sphere.centre.x, low.x), gap(sphere.centre.y, low.y),
                   gap(sphere.centre.z, low.z)};
  return dot(apart, apart) <= 1.001F * sphere.radius * sphere.radius;  // rather once too often
}

template <class Visit>
void each_cell(const Sphere& sphere, const Visit& visit) {
  const Vec3 reach{sphere.radius, sphere.radius, sphere.radius};
  const Cell from = grid().cell_at(sphere.centre - reach);
  const Cell to = grid().cell_at(sphere.centre + reach);
  for (std::int16_t z = from.z; z <= to.z; ++z) {
    for (std::int16_t y = from.y; y <= to.y; ++y) {
      for (std::int16_t x = from.x; x <= to.x; ++x) {
        const Cell cell{x, y, z};
        if (grid().contains(cell) && touches(sphere, cell)) visit(cell);
      }
    }
  }
}

}  // namespace

LocalScene make_scene(godwit::Rank rank, godwit::Rank ranks) {
  const Split blocks = split_blocks(grid(), ranks);
  LocalScene scene;
  scene.first_cell = blocks.first(rank) * grid().cells_per_block();
  // A list of spheres for each cell; then all of them one after the other.
  std::vector<std::vector<std::uint32_t>> lists(
      static_cast<std::size_t>(blocks.size(rank) * grid().cells_per_block()));
  for (int i = 0; i < kSpheres; ++i) {
    const Sphere sphere = make_sphere(i);
    bool kept = false;
    each_cell(sphere, [&](Cell cell) {
      const std::int64_t local = grid().index_of(cell) - scene.first_cell;
      if (local < 0 || local >= static_cast<std::int64_t>(lists.size())) return;
      if (!kept) scene.spheres.push_back(sphere);
      kept = true;
      lists[static_cast<std::size_t>(local)].push_back(
          static_cast<std::uint32_t>(scene.spheres.size() - 1));
    });
  }
  for (const std::vector<std::uint32_t>& list : lists) {
    scene.begin.push_back(static_cast<std::uint32_t>(scene.listed.size()));
    scene.listed.insert(scene.listed.end(), list.begin(), list.end());
  }
  scene.begin.push_back(static_cast<std::uint32_t>(scene.listed.size()));
  return scene;
}

}  // namespace gallery::render
