// The path tracer's kernels: plain functors, for CPU threads and for a GPU.
#pragma once

#include <cstdint>

#include "common/atomics.hpp"
#include "common/grid.hpp"
#include "common/random.hpp"
#include "common/split.hpp"
#include "render/light.hpp"
#include "render/scene.hpp"

namespace gallery::render {

// A path that is on its way. All that the next rank needs to go on with it.
struct Ray {
  Vec3 origin = {};
  Vec3 direction = {};
  Vec3 weight = {};  // of the light it will find
  std::uint32_t pixel = 0;
  std::uint16_t sample = 0;
  std::uint16_t bounce = 0;
  Cell cell = {};        // where it is
  bool sees_sun = true;  // the sun's disc counts: no shadow ray has asked for it
};

// A question on its way to the sun: what stands in between?
struct Shadow {
  Vec3 origin = {};
  Vec3 direction = {};
  Vec3 light = {};  // what arrives if nothing does
  std::uint32_t pixel = 0;
  Cell cell = {};
};

// Light for a pixel, for the rank that owns the pixel. In whole numbers: sums of these are the same
// in whatever order they arrive, and so the picture is the same to the bit on any number of ranks.
struct Light {
  std::uint32_t pixel = 0;
  std::uint32_t red = 0;
  std::uint32_t green = 0;
  std::uint32_t blue = 0;
};
inline constexpr float kLightUnits = 65536;
inline constexpr float kMostLight = 12;  // of one path: rather a little dark than sparks

// Folds light into the sums of this rank's pixels.
struct AddLight {
  std::uint64_t* sums = nullptr;  // three a pixel
  std::int64_t first_pixel = 0;

  GODWIT_KERNEL void operator()(const Light& light) const {
    std::uint64_t* const sum = sums + 3 * (light.pixel - first_pixel);
    fold_add(sum[0], light.red);
    fold_add(sum[1], light.green);
    fold_add(sum[2], light.blue);
  }
};

// What its random numbers depend on.
GODWIT_KERNEL inline std::uint64_t path_key(std::uint32_t pixel, std::uint16_t sample) {
  return std::uint64_t{pixel} << 16 | sample;
}

template <class Out>
GODWIT_KERNEL void give(const Split& pixels, std::uint32_t pixel, Vec3 light, Out& out) {
  const auto units = [](float x) {
    return static_cast<std::uint32_t>(kLightUnits * (x < kMostLight ? x : kMostLight));
  };
  out.emit(Light{pixel, units(light.x), units(light.y), units(light.z)}, pixels.owner(pixel));
}

struct Trace {
  Scene scene = {};
  Split blocks = {};
  Split pixels = {};
  bool show_owners = false;

  // Goes on with a path until it ends, or comes to a block of another rank.
  template <class Out>
  GODWIT_KERNEL void operator()(Ray ray, Out& out) const {
    while (scene.has(ray.cell)) {
      const Exit exit = leave(grid(), ray.cell, ray.origin, ray.direction);
      const Hit hit = scene.nearest(ray.cell, ray.origin, ray.direction, exit.distance);
      if (hit.shine >= 0) {
        if (!bounce(ray, hit, out)) return;
        continue;
      }
      ray.cell = exit.next;
      if (!grid().contains(ray.cell)) {
        return give(pixels, ray.pixel, ray.weight * sky(ray.direction, ray.sees_sun), out);
      }
    }
    out.emit(ray, blocks.owner(grid().block_of(ray.cell)));
  }

  // Goes on until something is in the way, or nothing can be any more.
  template <class Out>
  GODWIT_KERNEL void operator()(Shadow ray, Out& out) const {
    while (scene.has(ray.cell)) {
      const Exit exit = leave(grid(), ray.cell, ray.origin, ray.direction);
      const Hit hit = scene.nearest(ray.cell, ray.origin, ray.direction, exit.distance);
      if (hit.shine >= 0) return;
      ray.cell = exit.next;
      if (!grid().contains(ray.cell)) return give(pixels, ray.pixel, ray.light, out);
    }
    out.emit(ray, blocks.owner(grid().block_of(ray.cell)));
  }

 private:
  // The path's next direction; false if it ends. What it draws depends on its pixel, its sample and
  // how often it has bounced.
  template <class Out>
  GODWIT_KERNEL bool bounce(Ray& ray, Hit hit, Out& out) const {
    Random random{.key = path_key(ray.pixel, ray.sample),
                  .drawn = (std::uint32_t{ray.bounce} + 1) * kDraws};
    if (show_owners) hit.colour = mix(hit.colour, owner_colour(out.rank()), 0.75F);
    const float facing = -dot(ray.direction, hit.normal);
    const float grazing = 1 - (facing < 0 ? 0 : facing);
    const float squared = grazing * grazing;
    const float mirrored = hit.shine + (1 - hit.shine) * squared * squared * grazing;
    ray.origin = ray.origin + hit.distance * ray.direction;
    if (random.next() < mirrored) {
      if (hit.shine > 0.5F) ray.weight = ray.weight * hit.colour;
      ray.direction = normalize(ray.direction + 2 * facing * hit.normal);
    } else {
      ray.weight = ray.weight * hit.colour;
      const Vec3 to_sun = sun_direction(random);
      const float lit = dot(to_sun, hit.normal);
      if (lit > 0) {
        (*this)(Shadow{.origin = ray.origin,
                       .direction = to_sun,
                       .light = lit * ray.weight * kSun,
                       .pixel = ray.pixel,
                       .cell = ray.cell},
                out);
      }
      // A point on a ball that touches the surface: directions as a matte surface sends them.
      ray.direction = normalize(hit.normal + 0.999F * any_direction(random));
      ray.sees_sun = false;
    }
    ray.bounce = static_cast<std::uint16_t>(ray.bounce + 1);
    return ray.bounce < kMostBounces;
  }

  static constexpr std::uint16_t kMostBounces = 6;
  static constexpr std::uint32_t kDraws = 256;  // more than a bounce needs
};

}  // namespace gallery::render
