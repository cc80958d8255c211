#include "render/render.hpp"

#include <cmath>

#include "common/cpu.hpp"
#include "render/program.hpp"

namespace gallery::render {
namespace {

// Light has no upper end, a screen does: bright parts are pressed together, dark ones get darker.
Vec3 press(Vec3 light) {
  const auto one = [](float x) { return std::pow(1.45F * x / (1 + x), 1.35F); };
  return {one(light.x), one(light.y), one(light.z)};
}

}  // namespace

Rendering render(godwit::Group& group, const Options& options) {
  if (options.gpu) return render_on_gpu(group, options);
  return render_at(Cpu{.workers = options.workers}, group, options);
}

Image develop(const std::vector<std::uint64_t>& light, const Options& options) {
  Image image = Image::black(options.width, options.height());
  const float unit = 1 / (kLightUnits * static_cast<float>(options.samples));
  auto at = light.begin();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, at += 3) {
      image.set(x, y,
                press(unit * Vec3{static_cast<float>(at[0]), static_cast<float>(at[1]),
                                  static_cast<float>(at[2])}));
    }
  }
  return image;
}

}  // namespace gallery::render
