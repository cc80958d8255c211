// The program's side of spreading an object: it asks the home, which is the root of the tree.
#include "godwit/spread.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/fail.hpp"
#include "ref/access/access.hpp"

namespace godwit {
namespace {

using wire::ObjectItem;
using wire::SpreadFacts;

Status check_options(const SpreadOptions& options, std::size_t nodes) {
  if (options.fan_out == 0 || options.fan_out > wire::kMaxFanOut) {
    return fail(ErrorCode::invalid_argument, "a fan-out of {}: it is 1 to {}", options.fan_out,
                wire::kMaxFanOut);
  }
  if (options.keep.count() <= 0 || options.within.count() <= 0) {
    return fail(ErrorCode::invalid_argument, "copies are kept, and made, for more than no time");
  }
  if (nodes > wire::kMaxSpreadNodes) {
    return fail(ErrorCode::invalid_argument, "{} nodes at once: the limit is {}", nodes,
                wire::kMaxSpreadNodes);
  }
  return {};
}

SpreadReport::Node node_of(const SpreadFacts& facts) {
  SpreadReport::Node node{.node = facts.node,
                          .parent = facts.parent,
                          .bytes = facts.bytes,
                          .time = std::chrono::nanoseconds(facts.took_ns),
                          .copy = facts.copy};
  if (facts.code != 0) {
    node.error = Error{static_cast<ErrorCode>(facts.code), std::string(facts.why())};
  }
  return node;
}

}  // namespace

std::size_t SpreadReport::failed() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const Node& node) { return node.error.has_value(); }));
}

void SpreadReport::evict_copies(const Fleet& fleet) const {
  std::vector<Handle> copies;
  for (const Node& node : nodes) {
    if (!node.error && node.parent != 0) copies.push_back(node.copy);
  }
  static_cast<void>(detail::ObjectDoor(fleet.objects()).evict_all(copies));
}

Result<SpreadReport> detail::spread(ref::ObjectAccess& access, const Handle& handle,
                                    std::span<const std::uint64_t> nodes,
                                    const SpreadOptions& options) {
  GODWIT_CHECK(check_options(options, nodes.size()));
  SpreadReport report;
  std::unordered_map<std::uint64_t, std::size_t> places;
  std::vector<std::uint64_t> below;
  for (const std::uint64_t node : nodes) {
    if (!places.try_emplace(node, report.nodes.size()).second) continue;
    report.nodes.push_back({.node = node, .copy = handle});
    if (node != handle.home) below.push_back(node);
  }
  const std::array<ObjectItem, 2> items{
      ObjectItem{.handle = handle,
                 .a = static_cast<std::uint64_t>(options.keep.count()),
                 .b = options.fan_out},
      ObjectItem{.handle = handle}};
  const Bytes tail = std::as_bytes(std::span(below));
  // The home stops a little earlier, so that its report is still in time.
  const auto time = options.within / 10 * 9;
  GODWIT_TRY(const ref::Answered answered,
             ask(access.asking(),
                 {.home = NodeId{handle.home},
                  .op = wire::ObjectOp::spread,
                  .items = items,
                  .tail = {&tail, 1},
                  .argument = static_cast<std::uint64_t>(time.count()),
                  .time_left = options.within},
                 ref::Ask::slowly));
  GODWIT_TRY(const wire::ObjectAnswerView answer, wire::parse_object_answer(answered.bytes));
  GODWIT_CHECK(ref::check(answer));
  GODWIT_TRY(const std::vector<SpreadFacts> facts, wire::parse_spread_facts(answer.tail));
  if (facts.size() != below.size()) {
    return fail(ErrorCode::protocol_violation, "the home answered for {} nodes of {}", facts.size(),
                below.size());
  }
  for (const SpreadFacts& one : facts) {
    const auto place = places.find(one.node);
    if (place == places.end()) {
      return fail(ErrorCode::protocol_violation, "the home answered for a node nobody asked for");
    }
    report.nodes[place->second] = node_of(one);
  }
  return report;
}

}  // namespace godwit
