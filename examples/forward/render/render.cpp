#include "render/render.hpp"

#include <cmath>

#include "common/ranks.hpp"
#include "render/kernel.hpp"

namespace gallery::render {
namespace {

// Sends one path through a pixel of this rank: to where the path enters the scene, or to the sky.
struct Shoot {
  Camera camera = {};
  Split blocks = {};
  Split pixels = {};
  int width = 0;
  std::uint16_t sample = 0;

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint32_t pixel, Out& out) const {
    Random random{.key = std::uint64_t{pixel} << 16 | sample};
    const auto columns = static_cast<std::uint32_t>(width);
    const Vec3 direction = camera.through(static_cast<float>(pixel % columns) + random.next(),
                                          static_cast<float>(pixel / columns) + random.next());
    Ray ray{.origin = camera.eye,
            .direction = direction,
            .weight = {1, 1, 1},
            .pixel = pixel,
            .sample = sample};
    if (enter(ray)) {
      out.emit(ray, blocks.owner(grid().block_of(ray.cell)));
    } else {
      give(pixels, pixel, sky(direction, true), out);
    }
  }

 private:
  // The first cell on the ray's way; false if it passes by.
  GODWIT_KERNEL static bool enter(Ray& ray) {
    const Vec3 size = grid().edge * static_cast<float>(grid().block_cells) *
                      Vec3{grid().blocks.x, grid().blocks.y, grid().blocks.z};
    float from = 0;
    float to = 1e30F;
    for (int axis = 0; axis < 3; ++axis) {
      const float a = (grid().low[axis] - ray.origin[axis]) / ray.direction[axis];
      const float b = (grid().low[axis] + size[axis] - ray.origin[axis]) / ray.direction[axis];
      from = std::fmax(from, std::fmin(a, b));
      to = std::fmin(to, std::fmax(a, b));
    }
    ray.cell = grid().cell_at(ray.origin + (from + kTooNear) * ray.direction);
    return from < to && grid().contains(ray.cell);
  }
};

// Light has no upper end, a screen does: bright parts are pressed together, dark ones get darker.
Vec3 press(Vec3 light) {
  const auto one = [](float x) { return std::pow(1.45F * x / (1 + x), 1.35F); };
  return {one(light.x), one(light.y), one(light.z)};
}

Image develop(const std::vector<std::uint64_t>& light, int width, int height, int samples) {
  Image image = Image::black(width, height);
  const float unit = 1 / (kLightUnits * static_cast<float>(samples));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                           static_cast<std::size_t>(x));
      image.set(x, y,
                press(unit * Vec3{static_cast<float>(light[at]), static_cast<float>(light[at + 1]),
                                  static_cast<float>(light[at + 2])}));
    }
  }
  return image;
}

}  // namespace

Rendering render(godwit::Group& group, const Options& options) {
  const int height = options.width * 5 / 8;
  const Split blocks = split_blocks(grid(), group.ranks());
  const Split pixels{.count = std::int64_t{options.width} * height, .ranks = group.ranks()};
  const LocalScene scene(group.rank(), group.ranks());

  const godwit::ExchangeOptions how{.workers = static_cast<std::size_t>(options.workers)};
  auto exchange = need(godwit::Exchange<Ray, Shadow, godwit::Reduced<Light>>::create(group, how));
  std::vector<std::uint64_t> mine(static_cast<std::size_t>(3 * pixels.size(group.rank())));
  const std::int64_t first_pixel = pixels.first(group.rank());
  exchange.reduce<Light>(AddLight{.sums = mine.data(), .first_pixel = first_pixel});

  const Trace trace{.scene = scene.view(),
                    .blocks = blocks,
                    .pixels = pixels,
                    .show_owners = options.show_owners};
  Shoot shoot{.camera = Camera::looking(options.width, height),
              .blocks = blocks,
              .pixels = pixels,
              .width = options.width};
  // One path for each pixel at a time, which bounds the memory that rays take.
  for (int sample = 0; sample < options.samples; ++sample) {
    shoot.sample = static_cast<std::uint16_t>(sample);
    for (std::int64_t i = 0; i < pixels.size(group.rank()); ++i) {
      shoot(static_cast<std::uint32_t>(first_pixel + i), exchange);
    }
    need(exchange.run(trace));
  }

  const godwit::ExchangeStatus status = exchange.status();
  Rendering result{.image = {},
                   .light = gather(group, mine),
                   .moved = sum(group, status.emitted - status.stayed)};
  if (group.rank() == 0) {
    result.image = develop(result.light, options.width, height, options.samples);
  }
  return result;
}

}  // namespace gallery::render
