#include <algorithm>
#include <cmath>

#include "transport/medium.hpp"
#include "transport/transport.hpp"

namespace gallery::transport {
namespace {

constexpr int kWide = grid().blocks.x * grid().block_cells;
constexpr int kDeep = grid().blocks.y * grid().block_cells;
constexpr int kHigh = grid().blocks.z * grid().block_cells;

Cell cell(int x, int y, int z) {
  return {static_cast<std::int16_t>(x), static_cast<std::int16_t>(y), static_cast<std::int16_t>(z)};
}

// The energy in a column of cells, between floor and roof.
double column(const Dose& dose, int x, int y) {
  double sum = 0;
  for (int z = kSlab; z < kHigh - kSlab; ++z) {
    sum +=
        static_cast<double>(dose.cells[static_cast<std::size_t>(grid().index_of(cell(x, y, z)))]);
  }
  return sum;
}

// Whether a wall begins or ends here.
bool is_edge(int x, int y) {
  const Material here = material_at(cell(x, y, kSlab));
  return (x + 1 < kWide && material_at(cell(x + 1, y, kSlab)) != here) ||
         (y + 1 < kDeep && material_at(cell(x, y + 1, kSlab)) != here);
}

}  // namespace

Image draw(const Dose& dose, int scale) {
  constexpr double kDecades = 6.5;
  double most = 1;
  for (int y = 0; y < kDeep; ++y) {
    for (int x = 0; x < kWide; ++x) most = std::max(most, column(dose, x, y));
  }
  Image image = Image::black(kWide * scale, kDeep * scale);
  for (int y = 0; y < kDeep; ++y) {
    for (int x = 0; x < kWide; ++x) {
      const double share = std::max(column(dose, x, y), 1.0) / most;
      Vec3 colour = colour_of(static_cast<float>(1 + std::log10(share) / kDecades), kFire);
      if (is_edge(x, y)) colour = mix(colour, {0.25F, 0.45F, 0.6F}, 0.4F);
      for (int j = 0; j < scale; ++j) {
        for (int i = 0; i < scale; ++i) image.set(x * scale + i, y * scale + j, colour);
      }
    }
  }
  return image;
}

}  // namespace gallery::transport
