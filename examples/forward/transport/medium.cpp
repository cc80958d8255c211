#include "transport/medium.hpp"

#include "common/split.hpp"
#include "transport/plan.hpp"

namespace gallery::transport {
namespace {

static_assert(kPlan.size() * kCellsPerLetter == grid().blocks.y * grid().block_cells);
static_assert(kPlan[0].size() * kCellsPerLetter == grid().blocks.x * grid().block_cells);

}  // namespace

Material material_at(Cell cell) {
  const int height = grid().blocks.z * grid().block_cells;
  if (cell.z < kSlab || cell.z >= height - kSlab) return Material::concrete;
  const auto row = static_cast<std::size_t>(cell.y / kCellsPerLetter);
  const auto column = static_cast<std::size_t>(cell.x / kCellsPerLetter);
  switch (kPlan[row][column]) {
    case '#': return Material::concrete;
    case 'L': return Material::lead;
    case '~': return Material::water;
    default: return Material::air;
  }
}

Vec3 source() {
  for (std::size_t row = 0; row < kPlan.size(); ++row) {
    const std::size_t column = kPlan[row].find('*');
    if (column == std::string_view::npos) continue;
    const float height = grid().edge * static_cast<float>(grid().blocks.z * grid().block_cells) / 2;
    return {(static_cast<float>(column) + 0.5F) * kCellsPerLetter,
            (static_cast<float>(row) + 0.5F) * kCellsPerLetter, height + 0.5F};
  }
  return {};
}

std::vector<Material> make_medium(const Split& blocks, godwit::Rank rank) {
  std::vector<Material> materials;
  for (std::int64_t block = blocks.first(rank); block < blocks.first(rank + 1); ++block) {
    const Cell low = grid().first_cell_of(static_cast<int>(block));
    for (int z = 0; z < grid().block_cells; ++z) {
      for (int y = 0; y < grid().block_cells; ++y) {
        for (int x = 0; x < grid().block_cells; ++x) {  // in the order of Grid::index_of
          materials.push_back(material_at({static_cast<std::int16_t>(low.x + x),
                                           static_cast<std::int16_t>(low.y + y),
                                           static_cast<std::int16_t>(low.z + z)}));
        }
      }
    }
  }
  return materials;
}

}  // namespace gallery::transport
