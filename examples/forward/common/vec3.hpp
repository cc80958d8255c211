// Three floats and what one does with them, in kernels and outside.
#pragma once

#include <cmath>

#include "godwit/kernel.hpp"

namespace gallery {

struct Vec3 {
  float x = 0;
  float y = 0;
  float z = 0;

  // By number, for loops over the axes.
  [[nodiscard]] GODWIT_KERNEL float operator[](int axis) const {
    return axis == 0 ? x : axis == 1 ? y : z;
  }
  friend bool operator==(const Vec3&, const Vec3&) = default;
};

GODWIT_KERNEL inline Vec3 operator+(Vec3 a, Vec3 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
GODWIT_KERNEL inline Vec3 operator-(Vec3 a, Vec3 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
GODWIT_KERNEL inline Vec3 operator*(Vec3 a, Vec3 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
GODWIT_KERNEL inline Vec3 operator*(float s, Vec3 a) {
  return {s * a.x, s * a.y, s * a.z};
}
GODWIT_KERNEL inline float dot(Vec3 a, Vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
GODWIT_KERNEL inline Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
GODWIT_KERNEL inline float length(Vec3 a) {
  return std::sqrt(dot(a, a));
}
GODWIT_KERNEL inline Vec3 normalize(Vec3 a) {
  return (1 / length(a)) * a;
}
GODWIT_KERNEL inline Vec3 mix(Vec3 a, Vec3 b, float t) {
  return (1 - t) * a + t * b;
}

}  // namespace gallery
