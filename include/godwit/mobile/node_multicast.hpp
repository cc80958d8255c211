// A function at every node, along a tree, asked for by mobile code: what
// godwit/ops/node_multicast.hpp is for programs.
//
//   std::vector<godwit::Node> nodes(here.nodes({}));
//   here.nodes(nodes);
//   godwit::ops::multicast<remember>(here, nodes, value);   // [blocks]
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "godwit/mobile/operation.hpp"
#include "godwit/mobile/vector.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// What the operation itself answers; multicast() is its use.
using CallNodes = std::vector<NodeFailure>(std::uint32_t, std::span<const std::uint64_t>,
                                           NodeFunction, std::string_view, std::string_view,
                                           raw::Bytes);

// Calls an exported function of this bundle at each of the nodes, along a tree: every node passes
// the arguments on to four others at most. [blocks] Returns the nodes where it did not end well, in
// no order. Throws CallFailed if it could not begin at all.
template <auto Function, class... Args>
[[nodiscard]] std::vector<NodeFailure> multicast(const Here& here, std::span<const Node> nodes,
                                                 const Args&... args) {
  if (nodes.empty()) return {};
  std::vector<std::uint64_t> ids;
  for (const Node& node : nodes) ids.push_back(node.id);
  std::vector<std::byte> arguments;
  using Signature = SignatureOf<decltype(Function)>;
  const std::int32_t encoded = godwit::detail::Arguments<Signature>::with_parts(
      [&](const godwit_bytes* parts, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          const auto* const begin = static_cast<const std::byte*>(parts[i].data);
          arguments.insert(arguments.end(), begin, begin + parts[i].size);
        }
        return 0;
      },
      args...);
  if (encoded != 0) refuse(static_cast<std::uint32_t>(encoded), "no memory for the arguments");
  auto call = here.call(operation<CallNodes>(here, "call_nodes"), nodes.front(), kTreeFanOut,
                        std::span<const std::uint64_t>(ids), NodeFunction{here.own_code()},
                        godwit::detail::export_name<Function>(),
                        std::string_view(signature_of<decltype(Function)>), raw::Bytes(arguments));
  const auto outcome = call.outcome();
  if (outcome) return outcome.value;
  if (!outcome.may_have_started) {
    throw CallFailed(outcome.ending, outcome.reason, false, outcome.message);
  }
  std::vector<NodeFailure> unknown;
  for (const std::uint64_t id : ids) unknown.push_back({id, outcome.reason, 0});
  return unknown;
}

}  // namespace godwit::ops
