// The kernel that begins paths: one functor(index, out) for each path.
#pragma once

#include <cmath>
#include <cstdint>

#include "render/kernel.hpp"

namespace gallery::render {

// Sends a path through a pixel of this rank: to where it enters the scene, or into the sky.
struct Shoot {
  Camera camera = {};
  Split blocks = {};
  Split pixels = {};
  godwit::Rank rank = 0;
  std::uint32_t width = 0;
  std::uint32_t first_sample = 0;

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    const auto mine = static_cast<std::uint64_t>(pixels.size(rank));
    const auto pixel =
        static_cast<std::uint32_t>(pixels.first(rank)) + static_cast<std::uint32_t>(index % mine);
    const auto sample = static_cast<std::uint16_t>(first_sample + index / mine);
    Random random{.key = path_key(pixel, sample)};
    const float x = static_cast<float>(pixel % width) + random.next();
    const float y = static_cast<float>(pixel / width) + random.next();
    Ray ray{.origin = camera.eye,
            .direction = camera.through(x, y),
            .weight = {1, 1, 1},
            .pixel = pixel,
            .sample = sample};
    if (enter(ray)) {
      out.emit(ray, blocks.owner(grid().block_of(ray.cell)));
    } else {
      give(pixels, pixel, sky(ray.direction, true), out);
    }
  }

 private:
  // Puts the ray into the first cell on its way; false if it passes by.
  GODWIT_KERNEL static bool enter(Ray& ray) {
    const Grid space = grid();
    const Vec3 size = space.edge * static_cast<float>(space.block_cells) *
                      Vec3{static_cast<float>(space.blocks.x), static_cast<float>(space.blocks.y),
                           static_cast<float>(space.blocks.z)};
    float from = 0;
    float to = 1e30F;
    for (int axis = 0; axis < 3; ++axis) {
      const float a = (space.low[axis] - ray.origin[axis]) / ray.direction[axis];
      const float b = (space.low[axis] + size[axis] - ray.origin[axis]) / ray.direction[axis];
      from = std::fmax(from, std::fmin(a, b));
      to = std::fmin(to, std::fmax(a, b));
    }
    ray.cell = space.cell_at(ray.origin + (from + kTooNear) * ray.direction);
    return from < to && space.contains(ray.cell);
  }
};

}  // namespace gallery::render
