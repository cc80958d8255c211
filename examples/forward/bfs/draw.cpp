#include <algorithm>
#include <cmath>

#include "bfs/bfs.hpp"

namespace gallery::bfs {
namespace {

constexpr int kMargin = 12;
constexpr int kBars = 200;  // width of the right part

void draw_matrix(const Plot& plot, float last_level, Image& image) {
  const std::uint64_t most = *std::ranges::max_element(plot.edges);
  const float brightest = std::log1p(static_cast<float>(most));
  for (int y = 0; y < kPlotEdge; ++y) {
    for (int x = 0; x < kPlotEdge; ++x) {
      const auto at = static_cast<std::size_t>(y) * kPlotEdge + static_cast<std::size_t>(x);
      if (plot.edges[at] == 0) continue;
      const auto edges = static_cast<float>(plot.edges[at]);
      const float level = static_cast<float>(plot.levels[at]) / edges;
      const float light = 0.3F + 0.7F * std::log1p(edges) / brightest;
      image.set(kMargin + x, kMargin + y, light * colour_of(level / last_level, kSea));
    }
  }
}

// A bar for each level, as long as the logarithm of its vertices.
void draw_levels(const std::vector<std::uint64_t>& counts, float last_level, Image& image) {
  const auto levels = static_cast<int>(counts.size());
  const float longest = std::log1p(static_cast<float>(*std::ranges::max_element(counts)));
  const int pitch = kPlotEdge / levels;
  const int thick = std::max(1, pitch * 3 / 4);
  const int left = 2 * kMargin + kPlotEdge;
  for (int level = 0; level < levels; ++level) {
    const float share =
        std::log1p(static_cast<float>(counts[static_cast<std::size_t>(level)])) / longest;
    const auto length = static_cast<int>(share * kBars);
    const Vec3 colour = colour_of(static_cast<float>(level) / last_level, kSea);
    const int top = kMargin + level * pitch + (pitch - thick) / 2;
    for (int y = 0; y < thick; ++y) {
      for (int x = 0; x < length; ++x) image.set(left + x, top + y, colour);
    }
  }
}

}  // namespace

Image draw(const Search& search) {
  Image image = Image::black(3 * kMargin + kPlotEdge + kBars, 2 * kMargin + kPlotEdge);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) image.set(x, y, {0.004F, 0.006F, 0.012F});
  }
  const std::vector<std::uint64_t> counts = count_levels(search.levels);
  const float last_level = std::max(1.0F, static_cast<float>(counts.size()) - 1);
  draw_matrix(search.plot, last_level, image);
  draw_levels(counts, last_level, image);
  return image;
}

}  // namespace gallery::bfs
