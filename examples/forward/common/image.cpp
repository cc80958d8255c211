#include "common/image.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gallery {

Image Image::black(int width, int height) {
  Image image{.width = width, .height = height, .rgb = {}};
  image.rgb.resize(std::size_t{3} * static_cast<std::size_t>(width) *
                   static_cast<std::size_t>(height));
  return image;
}

void Image::set(int x, int y, Vec3 light) {
  const auto row = static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
  const std::size_t at = 3 * (row + static_cast<std::size_t>(x));
  for (int channel = 0; channel < 3; ++channel) {
    const float shown = std::pow(std::clamp(light[channel], 0.0F, 1.0F), 1 / 2.2F);
    rgb[at + static_cast<std::size_t>(channel)] =
        static_cast<std::uint8_t>(std::lround(255 * shown));
  }
}

Vec3 colour_of(float number, std::span<const Vec3> scale) {
  const float at = std::clamp(number, 0.0F, 1.0F) * static_cast<float>(scale.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(at), scale.size() - 2);
  return mix(scale[below], scale[below + 1], at - static_cast<float>(below));
}

}  // namespace gallery
