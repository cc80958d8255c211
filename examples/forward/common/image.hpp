// Pictures: pixels, colours for numbers, and PNG files.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/vec3.hpp"

namespace gallery {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  // rows from the top, three bytes a pixel

  static Image black(int width, int height);
  // Light from 0 to 1, as the eye sees it; what is beyond is cut.
  void set(int x, int y, Vec3 light);
  friend bool operator==(const Image&, const Image&) = default;
};

// A colour between those of a scale, for a number from 0 to 1.
Vec3 colour_of(float number, std::span<const Vec3> scale);

inline constexpr std::array kFire{Vec3{0.001F, 0.001F, 0.008F}, Vec3{0.05F, 0.01F, 0.16F},
                                  Vec3{0.28F, 0.02F, 0.22F},    Vec3{0.70F, 0.09F, 0.05F},
                                  Vec3{0.98F, 0.38F, 0.02F},    Vec3{1.00F, 0.80F, 0.25F},
                                  Vec3{1.00F, 0.98F, 0.85F}};
inline constexpr std::array kSea{Vec3{0.02F, 0.05F, 0.45F}, Vec3{0.01F, 0.30F, 0.75F},
                                 Vec3{0.02F, 0.65F, 0.65F}, Vec3{0.35F, 0.85F, 0.30F},
                                 Vec3{1.00F, 0.75F, 0.08F}, Vec3{1.00F, 0.28F, 0.10F}};

// std::runtime_error: the file cannot be written.
void write_png(const Image& image, const std::string& path);

}  // namespace gallery
