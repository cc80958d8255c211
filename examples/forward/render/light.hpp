// Where light comes from and where it goes: the sky, the sun and the camera.
#pragma once

#include "common/random.hpp"
#include "common/vec3.hpp"
#include "godwit/kernel.hpp"

namespace gallery::render {

// What a matte white surface that faces the sun sends back.
inline constexpr Vec3 kSun{2.0F, 1.75F, 1.35F};
inline constexpr float kSunRadius = 0.06F;  // of its disc, at distance 1

GODWIT_KERNEL inline Vec3 sun_centre() {
  return normalize({-0.55F, -0.35F, 0.8F});
}

// A point of the sun's disc: shadows get soft edges.
GODWIT_KERNEL inline Vec3 sun_direction(Random& random) {
  return normalize(sun_centre() + kSunRadius * any_direction(random));
}

GODWIT_KERNEL inline Vec3 sky(Vec3 direction, bool with_sun) {
  const float up = direction.z < 0 ? 0 : direction.z;
  const float down = direction.z < 0 ? -direction.z : 0;
  const Vec3 above = mix({0.85F, 0.80F, 0.78F}, {0.20F, 0.34F, 0.62F}, std::sqrt(up));
  const Vec3 light = mix(above, {0.05F, 0.07F, 0.12F}, std::sqrt(down));
  if (with_sun && dot(direction, sun_centre()) > 1 - kSunRadius * kSunRadius / 2) {
    return light + 6 * kSun;
  }
  return light;
}

struct Camera {
  Vec3 eye = {};
  Vec3 right = {};  // of one pixel
  Vec3 down = {};
  Vec3 corner = {};  // from the eye to the picture's upper left

  static Camera looking(int width, int height) {
    const Vec3 eye{15.0F, -14.0F, 17.5F};
    const Vec3 ahead = normalize(Vec3{0.3F, -0.3F, 3.2F} - eye);
    const Vec3 right = normalize(cross(ahead, {0, 0, 1}));
    const Vec3 down = cross(ahead, right);
    const float pixel = 1.02F / static_cast<float>(width);
    const Vec3 corner =
        ahead - (0.51F * right) - (0.5F * static_cast<float>(height) * pixel * down);
    return {eye, pixel * right, pixel * down, corner};
  }
  [[nodiscard]] GODWIT_KERNEL Vec3 through(float x, float y) const {
    return normalize(corner + x * right + y * down);
  }
};

GODWIT_KERNEL inline Vec3 owner_colour(int rank) {
  switch (rank % 6) {
    case 0: return {0.85F, 0.15F, 0.10F};
    case 1: return {0.10F, 0.40F, 0.85F};
    case 2: return {0.95F, 0.70F, 0.08F};
    case 3: return {0.08F, 0.60F, 0.25F};
    case 4: return {0.55F, 0.15F, 0.70F};
    default: return {0.10F, 0.65F, 0.70F};
  }
}

}  // namespace gallery::render
