// Split: which rank owns which of n things (blocks, pixels, lines, vertices), in equal runs.
#pragma once

#include <cstdint>

#include "godwit/kernel.hpp"

namespace gallery {

struct Split {
  std::int64_t count = 0;
  godwit::Rank ranks = 1;

  [[nodiscard]] GODWIT_KERNEL godwit::Rank owner(std::int64_t thing) const {
    return static_cast<godwit::Rank>(thing * ranks / count);
  }
  // A rank owns [first(rank), first(rank + 1)).
  [[nodiscard]] GODWIT_KERNEL std::int64_t first(godwit::Rank rank) const {
    return (rank * count + ranks - 1) / ranks;
  }
  [[nodiscard]] GODWIT_KERNEL std::int64_t size(godwit::Rank rank) const {
    return first(rank + 1) - first(rank);
  }
};

}  // namespace gallery
