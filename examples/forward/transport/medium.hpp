// What space is made of, cell by cell. A rank keeps the cells of its blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "common/grid.hpp"
#include "godwit/kernel.hpp"

namespace gallery::transport {

// A function, since a GPU has no constants of the host.
GODWIT_KERNEL constexpr Grid grid() {
  return {.blocks = {24, 16, 2}, .block_cells = 8, .low = {0, 0, 0}, .edge = 1};
}

enum class Material : std::uint8_t { air, concrete, water, lead };

// What happens to a particle on its way, per length.
struct Response {
  float scattering = 0;  // how often its direction changes
  float absorption = 0;  // how much of its energy stays
};

GODWIT_KERNEL inline Response response(Material material) {
  switch (material) {
    case Material::air: return {0.006F, 0.0015F};
    case Material::concrete: return {0.40F, 0.10F};
    case Material::water: return {0.15F, 0.02F};
    case Material::lead: return {0.50F, 1.20F};
  }
  return {};
}

// The medium as a kernel sees it.
struct Medium {
  std::int64_t first_cell = 0;
  std::int64_t cells = 0;
  const Material* materials = nullptr;

  [[nodiscard]] GODWIT_KERNEL bool has(Cell cell) const {
    const std::int64_t local = grid().index_of(cell) - first_cell;
    return local >= 0 && local < cells;
  }
  [[nodiscard]] GODWIT_KERNEL Material at(Cell cell) const {
    return materials[grid().index_of(cell) - first_cell];
  }
};

inline constexpr int kSlab = 3;  // cells of concrete, below and above the rooms

// By the plan.
Material material_at(Cell cell);
Vec3 source();

// The cells that a rank keeps.
std::vector<Material> make_medium(const Split& blocks, godwit::Rank rank);

}  // namespace gallery::transport
