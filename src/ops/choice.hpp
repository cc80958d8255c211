// Which mechanism is the cheapest, as arithmetic.
#pragma once

#include <cstdint>
#include <span>

#include "godwit/explain.hpp"

namespace godwit::ops {

// The costs of dependent reads: a fixed part for a call, and one for each step.
struct StepCosts {
  bool all_mapped = false;
  bool known = false;         // enough was measured to choose between get and code
  double direct_step_ns = 0;  // through the mappings
  double get_step_ns = 0;     // a get for what is not mapped
  double call_ns = 0;         // one call there and back
  double code_step_ns = 0;    // a step of travelling code, hops included
  double hop_share = 0;

  [[nodiscard]] double direct_ns(std::uint64_t steps) const noexcept {
    return direct_step_ns * static_cast<double>(steps);
  }
  [[nodiscard]] double get_ns(std::uint64_t steps) const noexcept {
    return get_step_ns * static_cast<double>(steps);
  }
  // The first step is made where the call arrives.
  [[nodiscard]] double code_ns(std::uint64_t steps) const noexcept {
    return call_ns + code_step_ns * static_cast<double>(steps > 0 ? steps - 1 : 0);
  }
};

// Over a list in random order: a step leads to a shard with the probability of its share. Shards
// that could not be measured count as the mean of the others.
[[nodiscard]] StepCosts step_costs(std::span<const ShardCost> shards);

// Direct if everything is mapped; otherwise the cheaper one of the others, and code if the figures
// do not tell.
[[nodiscard]] Mechanism choose(const StepCosts& costs, std::uint64_t steps) noexcept;

}  // namespace godwit::ops
