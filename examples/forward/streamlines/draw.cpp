#include <algorithm>
#include <cmath>

#include "streamlines/streamlines.hpp"

namespace gallery::streamlines {
namespace {

// Light that adds up: where lines are dense the picture glows.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width),
        height_(height),
        light_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

  // Shared between the four pixels around, which makes lines smooth.
  void dot(float x, float y, Vec3 light) {
    const float left = std::floor(x);
    const float top = std::floor(y);
    const auto column = static_cast<int>(left);
    const auto row = static_cast<int>(top);
    for (const int j : {0, 1}) {
      for (const int i : {0, 1}) {
        const float share =
            (i == 0 ? 1 - (x - left) : x - left) * (j == 0 ? 1 - (y - top) : y - top);
        add(column + i, row + j, share * light);
      }
    }
  }

  [[nodiscard]] Image develop() const {
    Image image = Image::black(width_, height_);
    const auto shown = [](float x) { return 1 - std::exp(-x); };
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const Vec3& light = light_[at(x, y)];
        const float dusk = 0.004F + 0.008F * static_cast<float>(y) / static_cast<float>(height_);
        image.set(
            x, y,
            {shown(light.x) + 0.3F * dusk, shown(light.y) + 0.45F * dusk, shown(light.z) + dusk});
      }
    }
    return image;
  }

 private:
  [[nodiscard]] std::size_t at(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(x);
  }
  void add(int x, int y, Vec3 light) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    light_[at(x, y)] = light_[at(x, y)] + light;
  }

  int width_;
  int height_;
  std::vector<Vec3> light_;
};

// Where a point of space is in the picture, and how far away.
struct View {
  float scale = 1;  // pixels
  float x0 = 0;
  float y0 = 0;

  [[nodiscard]] Vec3 project(Vec3 at) const {
    const Vec3 eye{5.8F, -4.3F, 4.4F};
    const Vec3 ahead = normalize(Vec3{0.1F, 0, -0.12F} - eye);
    const Vec3 right = normalize(cross(ahead, {0, 0, 1}));
    const Vec3 up = cross(right, ahead);
    const Vec3 seen = at - eye;
    const float depth = std::max(dot(seen, ahead), 0.1F);
    return {x0 + scale * dot(seen, right) / depth, y0 - scale * dot(seen, up) / depth, depth};
  }
};

void draw_line(const Point* points, int steps, const View& view, Canvas& canvas) {
  constexpr float kSlow = 1.3F;
  constexpr float kFast = 2.9F;
  for (int i = 0; i + 1 < steps && points[i + 1].speed >= 0; ++i) {
    const Vec3 from = view.project(points[i].position);
    const Vec3 to = view.project(points[i + 1].position);
    const float pixels = std::hypot(to.x - from.x, to.y - from.y);
    const int dots = 1 + static_cast<int>(pixels * 2);
    const float pace = (points[i].speed - kSlow) / (kFast - kSlow);
    // Each dot carries its share of the segment's light; what is far is dimmer.
    const float nearness = 8.4F / from.z;
    const float strength = 0.26F * std::pow(nearness, 5.0F) * pixels / static_cast<float>(dots);
    const Vec3 light = strength * colour_of(pace, kSea);
    for (int dot = 0; dot < dots; ++dot) {
      const Vec3 at = mix(from, to, static_cast<float>(dot) / static_cast<float>(dots));
      canvas.dot(at.x, at.y, light);
    }
  }
}

}  // namespace

Image draw(const Streamlines& lines, const Options& options, int width) {
  const int height = width * 5 / 8;
  const View view{.scale = 1.32F * static_cast<float>(width),
                  .x0 = 0.5F * static_cast<float>(width),
                  .y0 = 0.5F * static_cast<float>(height)};
  Canvas canvas(width, height);
  for (int line = 0; line < options.lines; ++line) {
    draw_line(lines.points.data() + static_cast<std::ptrdiff_t>(line) * options.steps,
              options.steps, view, canvas);
  }
  return canvas.develop();
}

}  // namespace gallery::streamlines
