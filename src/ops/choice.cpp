#include "ops/choice.hpp"

namespace godwit::ops {
namespace {

// A load that was not measured, of an element that is in no cache.
constexpr double kLoadNs = 100;

// Mean over the elements of those shards whose figure is known.
class Mean {
 public:
  void add(double share, double ns) {
    share_ += share;
    sum_ns_ += share * ns;
  }
  [[nodiscard]] bool known() const { return share_ > 0; }
  [[nodiscard]] double ns() const { return share_ > 0 ? sum_ns_ / share_ : 0; }

 private:
  double share_ = 0;
  double sum_ns_ = 0;
};

}  // namespace

StepCosts step_costs(std::span<const ShardCost> shards) {
  StepCosts costs;
  costs.all_mapped = !shards.empty();
  Mean load;
  Mean get;
  Mean hop;
  double mapped_share = 0;
  double stay_share = 0;
  for (const ShardCost& shard : shards) {
    costs.all_mapped = costs.all_mapped && shard.mapped;
    if (shard.mapped) mapped_share += shard.share;
    if (shard.load_ns) load.add(shard.share, *shard.load_ns);
    if (shard.get_ns) get.add(shard.share, *shard.get_ns);
    if (shard.hop_ns) hop.add(shard.share, *shard.hop_ns);
    stay_share += shard.share * shard.share;
  }
  const bool hops = shards.size() > 1;
  costs.hop_share = hops ? 1 - stay_share : 0;
  costs.direct_step_ns = load.known() ? load.ns() : kLoadNs;
  // Of those that are asked for: a mapped shard's get says nothing about the others.
  Mean asked;
  for (const ShardCost& shard : shards) {
    if (!shard.mapped && shard.get_ns) asked.add(shard.share, *shard.get_ns);
  }
  const double asked_ns = asked.known() ? asked.ns() : get.ns();
  costs.get_step_ns = mapped_share * costs.direct_step_ns + (1 - mapped_share) * asked_ns;
  costs.call_ns = get.ns();
  costs.code_step_ns = costs.direct_step_ns + costs.hop_share * hop.ns();
  costs.known = get.known() && (hop.known() || !hops);
  return costs;
}

Mechanism choose(const StepCosts& costs, std::uint64_t steps) noexcept {
  if (costs.all_mapped) return Mechanism::direct;
  if (!costs.known) return Mechanism::code;
  // One step is one message there and one back either way, and a get is the shorter one.
  if (steps <= 1) return Mechanism::get;
  return costs.get_ns(steps) < costs.code_ns(steps) ? Mechanism::get : Mechanism::code;
}

}  // namespace godwit::ops
