// What the ranks of a team agree on.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "forward/cuda/pool.hpp"
#include "forward/cuda/report.hpp"
#include "godwit/kernel.hpp"

namespace godwit::cuda {

struct Terms {
  PoolSize size{};
  Kinds kinds{};
  // By rank of the group: whether it is in the team, and so has its queues in this GPU's memory.
  std::array<bool, detail::kMaxRanks> inside{};
  // By rank: whether kernels here can read the memory of its GPU.
  std::array<bool, detail::kMaxRanks> readable{};
  std::uint32_t members = 0;  // of the team, in all processes
  int device = 0;
  std::chrono::milliseconds patience{};

  [[nodiscard]] bool is_inside(Rank rank) const noexcept {
    return inside[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_readable(Rank rank) const noexcept {
    return readable[static_cast<std::size_t>(rank)];
  }
  // Whether there are ranks that the team's kernels cannot write to.
  [[nodiscard]] bool has_outside() const noexcept { return members < size.ranks; }
  [[nodiscard]] std::uint32_t bin(std::uint32_t kind, Rank rank) const noexcept {
    return kind * size.ranks + static_cast<std::uint32_t>(rank);
  }
};

}  // namespace godwit::cuda
