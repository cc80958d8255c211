// Which mechanism is the cheapest, as arithmetic.
#pragma once

#include <cstdint>
#include <span>

#include "godwit/explain.hpp"

namespace godwit::ops {

// The figures of a region's shards, joined: means over the elements. Those of dependent reads are a
// fixed part for a call, and one for each step.
struct StepCosts {
  bool all_mapped = false;
  bool known = false;         // enough was measured to choose between get and code
  double direct_step_ns = 0;  // through the mappings
  double get_step_ns = 0;     // a get for what is not mapped
  double call_ns = 0;         // one call there and back
  double code_step_ns = 0;    // a step of travelling code, hops included
  double hop_share = 0;
  double work_ns = 0;             // a call that a worker runs
  double pull_byte_ns = 0;        // each byte of what is asked for
  double scan_byte_ns = 0;        // each byte that is read in order
  double largest_share = 1;       // of the shard that has most: the others are done meanwhile
  std::uint32_t tree_levels = 1;  // of a reduction

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
[[nodiscard]] StepCosts step_costs(std::span<const ShardCost> shards, double scan_byte_ns = 0);

// What each mechanism would take. A get of elements *is* the call to their home, so that nothing is
// left for code to do.
struct Expected {
  double direct_ns = 0;
  double get_ns = 0;
  double code_ns = 0;
  bool code_possible = true;
};
[[nodiscard]] Expected expect(const StepCosts& costs, const Work& work,
                              std::uint32_t element_size) noexcept;

// Dependent reads are direct if everything is mapped. Otherwise the cheapest of what is possible,
// and code if the figures do not tell.
[[nodiscard]] Mechanism choose(const StepCosts& costs, const Work& work,
                               std::uint32_t element_size) noexcept;
// The same for a chase.
[[nodiscard]] inline Mechanism choose(const StepCosts& costs, std::uint64_t steps) noexcept {
  return choose(costs, Work{.amount = steps}, sizeof(std::uint64_t));
}

}  // namespace godwit::ops
