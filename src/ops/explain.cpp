#include "godwit/explain.hpp"

#include <fmt/format.h>

#include "ops/calibrate.hpp"
#include "ops/choice.hpp"

namespace godwit::ops {
namespace {

std::string time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  return fmt::format("{:.1f} ms", ns / 1e6);
}
std::string time(std::optional<double> ns) {
  return ns ? time(*ns) : "-";
}

std::string why(const StepCosts& costs, const Decision& decision, Mechanism asked) {
  if (asked != Mechanism::automatic) return "it was asked for";
  if (decision.chosen == Mechanism::direct) return "every shard is mapped here";
  if (!costs.known) return "nothing could be measured, and code needs the fewest messages";
  if (decision.steps <= 1)
    return "one step is one message either way, and a get is the shorter one";
  return fmt::format("{} by gets, {} by travelling code", time(costs.get_ns(decision.steps)),
                     time(costs.code_ns(decision.steps)));
}

}  // namespace

std::string_view to_string(Mechanism mechanism) noexcept {
  switch (mechanism) {
    case Mechanism::automatic: return "automatic";
    case Mechanism::direct: return "direct";
    case Mechanism::get: return "get";
    case Mechanism::code: return "code";
  }
  return "";
}

Decision explain(const detail::RegionHandle& region, std::uint64_t steps, Mechanism mechanism) {
  Decision decision;
  decision.steps = steps;
  decision.shards = calibrate(region.attachment());
  StepCosts costs = step_costs(decision.shards);
  const bool mapped = costs.all_mapped;
  if (region.reach() == Reach::message) costs.all_mapped = false;
  decision.hop_share = costs.hop_share;
  decision.chosen = mechanism == Mechanism::automatic ? choose(costs, steps) : mechanism;
  decision.candidates = {{Mechanism::direct, mapped, costs.direct_ns(steps)},
                         {Mechanism::get, true, costs.known ? costs.get_ns(steps) : 0},
                         {Mechanism::code, true, costs.known ? costs.code_ns(steps) : 0}};
  decision.why = why(costs, decision, mechanism);
  return decision;
}

std::string to_text(const Decision& decision) {
  std::string out = fmt::format("{} steps: {}, because {}\n\n", decision.steps,
                                to_string(decision.chosen), decision.why);
  for (const Candidate& candidate : decision.candidates) {
    out += fmt::format("  {:<8}{:>12}\n", to_string(candidate.mechanism),
                       !candidate.possible          ? "not possible"
                       : candidate.expected_ns == 0 ? "not known"
                                                    : time(candidate.expected_ns));
  }
  out += fmt::format("\n{:>7}  {:<16}{:>8}{:>10}{:>10}{:>10}\n", "shard", "node", "share", "load",
                     "get", "hop");
  for (const ShardCost& shard : decision.shards) {
    out += fmt::format("{:>7}  {:<16}{:>7.1f}%{:>10}{:>10}{:>10}{}\n", shard.shard, shard.node,
                       shard.share * 100, time(shard.load_ns), time(shard.get_ns),
                       time(shard.hop_ns), shard.lost ? "  lost" : "");
  }
  return out + fmt::format(
                   "\n{:.0f} % of the steps of a list in random order lead to another "
                   "shard.\n",
                   decision.hop_share * 100);
}

}  // namespace godwit::ops
