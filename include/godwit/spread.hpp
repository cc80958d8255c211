// One object to many nodes before they need it, along a tree: each node has its copy from another
// node, and the object's home sends few, however many nodes there are.
//
//   auto model = fleet.node(0).put(weights).value();
//   auto report = godwit::spread(model, fleet.nodes(), {.keep = 10min}).value();
//   for (const auto& node : report.nodes) ...           // which of them have it, and since when
//   score.on(fleet.node(7))(model, batch);              // reads the copy that is there
//
// From then on a function of such a node that resolves this Ref, or has it for an argument, reads
// the node's own copy: one version, that of the Ref, for as long as SpreadOptions::keep says,
// whatever becomes of the original meanwhile. A copy stands for the very handle that was spread; a
// handle with other rights, or of another version, leads to the home as before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/handle.hpp"
#include "godwit/ref.hpp"

namespace godwit {

struct SpreadOptions {
  std::uint32_t fan_out = 4;                                   // copies that a node sends; 1 to 64
  std::chrono::nanoseconds keep = std::chrono::seconds(60);    // how long copies live, from each's
                                                               // making, or from a later spread
  std::chrono::nanoseconds within = std::chrono::seconds(60);  // for all of it
};

struct GODWIT_API SpreadReport {
  struct Node {
    std::uint64_t node = 0;
    std::uint64_t parent = 0;         // whose copy it was made from; 0: it is the home
    std::uint64_t bytes = 0;          // that came
    std::chrono::nanoseconds time{};  // that it took, at that node
    Handle copy{};                    // an object like any other, if there is no error
    std::optional<Error> error{};     // why it has no copy
  };
  std::vector<Node> nodes;  // each that was asked for once, in that order

  [[nodiscard]] std::size_t failed() const noexcept;
  // Ends the copies before their time. Best effort: nodes that are gone have none. Functions that
  // read one at the moment keep it until done.
  void evict_copies(const Fleet& fleet) const;
};

namespace detail {
[[nodiscard]] GODWIT_API Result<SpreadReport> spread(ref::ObjectAccess& access,
                                                     const Handle& handle,
                                                     std::span<const std::uint64_t> nodes,
                                                     const SpreadOptions& options);
}  // namespace detail

// Waits until each of the nodes has a copy, or is known to get none: that is in the report. At most
// 4,096 nodes. Errors, of the whole: those of resolving the Ref, node_lost and unreachable (the
// home; copies made by then stay), invalid_argument (the options; a Ref of what was only promised),
// deadline.
template <class T>
[[nodiscard]] Result<SpreadReport> spread(const Ref<T>& ref, std::span<const NodeHandle> nodes,
                                          const SpreadOptions& options = {}) {
  if (nodes.empty()) return SpreadReport{};
  std::vector<std::uint64_t> ids;
  ids.reserve(nodes.size());
  for (const NodeHandle& node : nodes) ids.push_back(node.id());
  return detail::spread(nodes.front().objects(), ref.handle(), ids, options);
}

}  // namespace godwit
