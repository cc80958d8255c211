#include "ops/choice.hpp"

#include <algorithm>

#include "godwit/ops/parts.hpp"

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

// Reads for one vertex: its two offsets, and a target.
constexpr double kReadsPerVertex = 3;
// Gets for a slot of a hash table: before, what is there, and after.
constexpr double kGetsPerSlot = 3;
// Slots that a key in a table with room to spare looks at.
constexpr double kProbes = 2;

bool is_dependent(Operation operation) {
  return operation == Operation::chase || operation == Operation::list_find ||
         operation == Operation::tree_find;
}

std::uint32_t levels_of_tree(std::size_t shards) {
  std::uint32_t levels = 1;
  for (std::uint64_t held = 1, level = 1; held < shards; held += level) {
    level *= kTreeFanOut;
    ++levels;
  }
  return levels;
}

}  // namespace

StepCosts step_costs(std::span<const ShardCost> shards, double scan_byte_ns) {
  StepCosts costs;
  costs.scan_byte_ns = scan_byte_ns;
  costs.all_mapped = !shards.empty();
  costs.largest_share = shards.empty() ? 1 : 0;
  costs.tree_levels = levels_of_tree(shards.size());
  Mean load;
  Mean get;
  Mean hop;
  Mean work;
  Mean pull;
  Mean asked;  // of those that are not mapped: a mapped shard's get says nothing about the others
  double mapped_share = 0;
  double stay_share = 0;
  for (const ShardCost& shard : shards) {
    costs.all_mapped = costs.all_mapped && shard.mapped;
    costs.largest_share = std::max(costs.largest_share, shard.share);
    if (shard.mapped) mapped_share += shard.share;
    if (shard.load_ns) load.add(shard.share, *shard.load_ns);
    if (shard.get_ns) get.add(shard.share, *shard.get_ns);
    if (shard.get_ns && !shard.mapped) asked.add(shard.share, *shard.get_ns);
    if (shard.hop_ns) hop.add(shard.share, *shard.hop_ns);
    if (shard.work_ns) work.add(shard.share, *shard.work_ns);
    if (shard.pull_byte_ns) pull.add(shard.share, *shard.pull_byte_ns);
    stay_share += shard.share * shard.share;
  }
  const bool hops = shards.size() > 1;
  costs.hop_share = hops ? 1 - stay_share : 0;
  costs.direct_step_ns = load.known() ? load.ns() : kLoadNs;
  const double asked_ns = asked.known() ? asked.ns() : get.ns();
  costs.get_step_ns = mapped_share * costs.direct_step_ns + (1 - mapped_share) * asked_ns;
  costs.call_ns = get.ns();
  costs.code_step_ns = costs.direct_step_ns + costs.hop_share * hop.ns();
  costs.work_ns = work.known() ? work.ns() : get.ns();
  costs.pull_byte_ns = pull.ns();
  costs.known = get.known() && (hop.known() || !hops);
  return costs;
}

Expected expect(const StepCosts& costs, const Work& work, std::uint32_t element_size) noexcept {
  const auto amount = static_cast<double>(work.amount);
  const double bytes = amount * element_size;
  const double scan_ns = bytes * costs.scan_byte_ns;
  const double loads_ns = amount * costs.direct_step_ns;
  switch (work.operation) {
    case Operation::chase:
    case Operation::list_find:
    case Operation::tree_find: break;
    case Operation::get: return {scan_ns, costs.call_ns + bytes * costs.pull_byte_ns, 0, false};
    case Operation::gather:
      return {loads_ns,
              costs.call_ns + amount * (element_size + sizeof(std::uint64_t)) * costs.pull_byte_ns +
                  loads_ns * costs.largest_share,
              0, false};
    case Operation::hash_get:
      return {kProbes * costs.direct_step_ns, kGetsPerSlot * costs.call_ns, costs.call_ns};
    case Operation::k_hop: {
      const double reads_ns = kReadsPerVertex * loads_ns;
      const double asked_bytes = amount * 2 * kReadsPerVertex * sizeof(std::uint64_t);
      return {reads_ns, work.hops * 2 * costs.call_ns + asked_bytes * costs.pull_byte_ns + reads_ns,
              costs.work_ns * (1 + (costs.tree_levels > 1 ? work.hops : 0)) +
                  reads_ns * costs.largest_share + bytes * costs.pull_byte_ns};
    }
    case Operation::reduce:
      return {scan_ns, costs.work_ns + bytes * costs.pull_byte_ns + scan_ns,
              costs.work_ns * costs.tree_levels + scan_ns * costs.largest_share};
  }
  return {costs.direct_ns(work.amount), costs.get_ns(work.amount), costs.code_ns(work.amount)};
}

Mechanism choose(const StepCosts& costs, const Work& work, std::uint32_t element_size) noexcept {
  const Expected expected = expect(costs, work, element_size);
  // Nothing is quicker than loads where each has to wait for the one before.
  const bool reads_only = is_dependent(work.operation) || work.operation == Operation::hash_get ||
                          !expected.code_possible;
  if (costs.all_mapped && reads_only) return Mechanism::direct;
  if (!expected.code_possible) return Mechanism::get;
  if (!costs.known) return Mechanism::code;
  // One step is one message there and one back either way, and a get is the shorter one.
  if (is_dependent(work.operation) && work.amount <= 1) return Mechanism::get;
  const double here_ns = costs.all_mapped ? expected.direct_ns : expected.get_ns;
  if (here_ns >= expected.code_ns) return Mechanism::code;
  return costs.all_mapped ? Mechanism::direct : Mechanism::get;
}

}  // namespace godwit::ops
