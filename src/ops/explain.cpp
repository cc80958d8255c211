#include "godwit/explain.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ops/calibrate.hpp"
#include "ops/choice.hpp"
#include "ops/decide.hpp"

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

std::string why(const StepCosts& costs, const Decision& decision, Mechanism asked,
                const Expected& expected) {
  if (asked != Mechanism::automatic) return "it was asked for";
  const Operation operation = decision.operation;
  if (operation == Operation::hash_get && decision.chosen == Mechanism::code)
    return "one call looks at all slots of a key, and gets would be three";
  if (!expected.code_possible && decision.chosen == Mechanism::get)
    return "not every shard is mapped here, and a get is a call to the elements' home";
  const bool weighed = operation == Operation::reduce || operation == Operation::k_hop;
  if (decision.chosen == Mechanism::direct && !weighed) return "every shard is mapped here";
  if (!costs.known) return "nothing could be measured, and code needs the fewest messages";
  if (decision.steps <= 1 && !weighed)
    return "one step is one message either way, and a get is the shorter one";
  if (costs.all_mapped)
    return fmt::format("{} by plain loads, {} by code at the data", time(expected.direct_ns),
                       time(expected.code_ns));
  return fmt::format("{} by gets, {} by travelling code", time(expected.get_ns),
                     time(expected.code_ns));
}

constexpr std::array<std::pair<Operation, std::string_view>, 8> kOperations{{
    {Operation::chase, "chase"},
    {Operation::get, "get"},
    {Operation::gather, "gather"},
    {Operation::list_find, "list_find"},
    {Operation::tree_find, "tree_find"},
    {Operation::hash_get, "hash_get"},
    {Operation::k_hop, "k_hop"},
    {Operation::reduce, "reduce"},
}};

// What an amount counts.
std::string_view unit_of(Operation operation) {
  switch (operation) {
    case Operation::chase: return "steps";
    case Operation::list_find: return "nodes of a list";
    case Operation::tree_find: return "levels of a tree";
    case Operation::hash_get: return "keys of a table";
    case Operation::k_hop: return "vertices within hops";
    case Operation::reduce: return "elements to reduce";
    case Operation::get: return "elements in a row";
    case Operation::gather: return "elements anywhere";
  }
  return "";
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

std::string_view to_string(Operation operation) noexcept {
  for (const auto& [one, name] : kOperations) {
    if (one == operation) return name;
  }
  return "";
}

std::optional<Operation> operation_named(std::string_view name) noexcept {
  for (const auto& [one, known] : kOperations) {
    if (known == name) return one;
  }
  return std::nullopt;
}

Decision explain(const detail::RegionHandle& region, const Work& asked, Mechanism mechanism) {
  const Attachment& attachment = region.attachment();
  const Work work = completed(attachment, asked);
  Decision decision;
  decision.operation = work.operation;
  decision.steps = work.amount;
  decision.shards = calibrate(attachment);
  decision.scan_byte_ns = scan_byte_ns();
  StepCosts costs = step_costs(decision.shards, decision.scan_byte_ns);
  const bool mapped = costs.all_mapped;
  if (region.reach() == Reach::message) costs.all_mapped = false;
  decision.hop_share = costs.hop_share;
  const std::uint32_t size = attachment.element_size();
  const Expected expected = expect(costs, work, size);
  decision.chosen = mechanism == Mechanism::automatic ? choose(costs, work, size) : mechanism;
  decision.candidates = {
      {Mechanism::direct, mapped, expected.direct_ns},
      {Mechanism::get, true, costs.known ? expected.get_ns : 0},
      {Mechanism::code, expected.code_possible, costs.known ? expected.code_ns : 0}};
  decision.why = why(costs, decision, mechanism, expected);
  return decision;
}

std::string to_text(const Decision& decision) {
  std::string out =
      fmt::format("{} {}: {}, because {}\n\n", decision.steps, unit_of(decision.operation),
                  to_string(decision.chosen), decision.why);
  for (const Candidate& candidate : decision.candidates) {
    out += fmt::format("  {:<8}{:>12}\n", to_string(candidate.mechanism),
                       !candidate.possible          ? "not possible"
                       : candidate.expected_ns == 0 ? "not known"
                                                    : time(candidate.expected_ns));
  }
  out += fmt::format("\n{:>7}  {:<16}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "shard", "node",
                     "share", "load", "get", "hop", "worker", "KiB");
  for (const ShardCost& shard : decision.shards) {
    const auto kib_ns =
        shard.pull_byte_ns ? std::optional(*shard.pull_byte_ns * 1024) : std::nullopt;
    out += fmt::format("{:>7}  {:<16}{:>7.1f}%{:>10}{:>10}{:>10}{:>10}{:>10}{}\n", shard.shard,
                       shard.node, shard.share * 100, time(shard.load_ns), time(shard.get_ns),
                       time(shard.hop_ns), time(shard.work_ns), time(kib_ns),
                       shard.lost ? "  lost" : "");
  }
  if (decision.scan_byte_ns > 0) {
    out += fmt::format("\nA KiB of memory that is read in order takes {}.\n",
                       time(decision.scan_byte_ns * 1024));
  }
  return out + fmt::format(
                   "\n{:.0f} % of the steps of a list in random order lead to another "
                   "shard.\n",
                   decision.hop_share * 100);
}

}  // namespace godwit::ops
