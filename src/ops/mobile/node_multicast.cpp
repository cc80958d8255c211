// A function at every node of a list, along a tree.
#include <godwit/mobile.hpp>
#include <godwit/mobile/node_multicast.hpp>

#include <array>

namespace godwit::ops {
namespace {

using Nodes = std::span<const std::uint64_t>;
using Failures = std::vector<NodeFailure>;

// All nodes of a part, whose call ended without saying what it came to.
void add_part(Failures& failures, Nodes part, std::uint32_t reason) {
  for (const std::uint64_t node : part) failures.push_back({node, reason, 0});
}

}  // namespace

// `nodes` begins with this one; the rest is shared out among `fan_out` others. Returns those where
// the function did not end well. The code is here before it is passed on: who comes next asks for
// it here.
Failures call_nodes(Here& here, std::uint32_t fan_out, Nodes nodes, NodeFunction function,
                    std::string_view name, std::string_view signature, raw::Bytes arguments) {
  if (nodes.empty() || nodes.front() != here.self().id) {
    refuse(kInvalidArgument, "a part of a multicast came to the wrong node");
  }
  if (fan_out == 0 || fan_out > kMaxTreeFanOut) {
    refuse(kInvalidArgument, "a tree has a fan-out of 1 to %u, not %u", kMaxTreeFanOut, fan_out);
  }
  const godwit_here_v1* const table = here.table();
  const godwit_function_ref wanted{function.code.data(), name.data(), name.size()};
  const std::int32_t missing =
      table->check_function(table, &wanted, signature.data(), signature.size());
  if (missing != 0) refuse(static_cast<std::uint32_t>(missing), "%s", table->last_error(table));

  std::array<Pending<Failures>, kMaxTreeFanOut> below;
  std::array<Nodes, kMaxTreeFanOut> parts;
  std::uint32_t children = 0;
  for (Nodes rest = nodes.subspan(1); !rest.empty(); ++children) {
    const std::size_t left = fan_out - children;
    parts[children] = rest.first((rest.size() + left - 1) / left);
    rest = rest.subspan(parts[children].size());
    below[children] = here.call<call_nodes>(Node{parts[children].front()}, fan_out, parts[children],
                                            function, name, signature, arguments);
  }
  const godwit_bytes blob{arguments.data(), arguments.size()};
  std::uint64_t handle = 0;
  const std::int32_t error = table->call(table, here.self().id, &wanted, &blob, 1, 0, &handle);
  Pending<void> own(table, error, handle);
  Failures failures;
  if (const auto ended = own.outcome(); !ended) {
    failures.push_back(
        {here.self().id, ended.reason,
         ended.ending == GODWIT_ENDED_APP_ERROR || !ended.may_have_started ? 1U : 0U});
  }
  for (std::uint32_t i = 0; i < children; ++i) {
    const auto ended = below[i].outcome();
    if (ended) {
      failures.insert(failures.end(), ended.value.begin(), ended.value.end());
    } else {
      add_part(failures, parts[i], ended.reason);
    }
  }
  return failures;
}
GODWIT_EXPORT(call_nodes);

}  // namespace godwit::ops
