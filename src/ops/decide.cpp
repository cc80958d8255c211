#include "ops/decide.hpp"

#include <fmt/format.h>

#include "godwit/ops/layout.hpp"
#include "ops/calibrate.hpp"

namespace godwit::ops {
namespace {

constexpr std::chrono::seconds kRecallAfter{1};

StepCosts costs_of(const Attachment& region) {
  if (!region.is_calibrated()) {
    static_cast<void>(calibrate(region));
  } else if (CostBook::Clock::now() - region.remembered() > kRecallAfter) {
    return recall(region);
  }
  return region.step_costs();
}

}  // namespace

Work completed(const Attachment& region, Work work) {
  if (work.operation == Operation::hash_get) work.amount = 1;
  if (work.amount > 0) return work;
  if (work.operation == Operation::reduce) work.amount = region.elements();
  if (work.operation == Operation::tree_find) {
    work.amount = 1;
    for (std::uint64_t held = 1; held < region.elements(); held = held * kTreeFan + 1) {
      ++work.amount;
    }
  }
  return work;
}

Mechanism decide(const detail::RegionHandle& handle, const Work& asked, Mechanism mechanism) {
  if (mechanism != Mechanism::automatic) return mechanism;
  const Attachment& region = handle.attachment();
  const Work work = completed(region, asked);
  const bool mapped = region.is_all_mapped() && handle.reach() == Reach::automatic;
  const bool weighed = work.operation == Operation::reduce || work.operation == Operation::k_hop;
  if (mapped && !weighed) return Mechanism::direct;
  StepCosts costs = costs_of(region);
  costs.all_mapped = mapped;
  return choose(costs, work, region.element_size());
}

Failure not_mapped(const Attachment& region, const char* verb) {
  return {Ending::rejected, ErrorCode::unsupported, false,
          fmt::format("{}: region '{}' has shards that are not mapped in this process", verb,
                      region.name())};
}

}  // namespace godwit::ops
