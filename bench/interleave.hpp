// Measures things that are to be compared, turn by turn, so that all of them see the same machine.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "floors/sample.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

using floors::Sample;
using Measure = std::function<Result<Sample>()>;

struct Effort {
  double seconds = 1;  // goes on until this is spent
  std::size_t min_rounds = 3;
  std::size_t max_rounds = 25;
};

// One sample for each contender, in order: every figure is the median over the rounds. The first
// error ends it.
[[nodiscard]] Result<std::vector<Sample>> interleave(std::span<const Measure> contenders,
                                                     const Effort& effort);

// The median of each figure.
[[nodiscard]] Sample median_of(std::span<const Sample> samples);

}  // namespace godwit::bench
