#include "godwit/ops/node_multicast.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "call/caller.hpp"
#include "code/bundle/bundle.hpp"
#include "godwit/mobile/std.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/region.hpp"
#include "ops/functions.hpp"

namespace godwit::detail {
namespace {

using Failures = std::vector<ops::NodeFailure>;

// The nodes of the failures that are known, or not, as they stand in the list that was called.
std::vector<std::string> names_of(const std::vector<NodeHandle>& nodes, const Failures& failures,
                                  bool known) {
  std::vector<std::string> names;
  for (const NodeHandle& node : nodes) {
    const bool listed = std::ranges::any_of(failures, [&](const ops::NodeFailure& failure) {
      return failure.node == node.id() && (failure.is_known != 0) == known;
    });
    if (listed) names.push_back(node.name());
  }
  return names;
}

Outcome<void> joined(const std::vector<NodeHandle>& nodes, const std::string& subject,
                     const Failures& failures) {
  if (failures.empty()) return {};
  const std::vector<std::string> unknown = names_of(nodes, failures, false);
  const std::vector<std::string> failed = names_of(nodes, failures, true);
  std::string text = subject + ": done, but for";
  if (!unknown.empty()) {
    text += fmt::format(" nodes {}, of which it is not known", fmt::join(unknown, ", "));
  }
  if (!failed.empty()) {
    text += fmt::format("{} nodes {}, where it failed", unknown.empty() ? "" : "; and",
                        fmt::join(failed, ", "));
  }
  const bool any_unknown = !unknown.empty();
  const auto first = std::ranges::find_if(failures, [&](const ops::NodeFailure& failure) {
    return (failure.is_known == 0) == any_unknown;
  });
  const auto reason =
      first == failures.end() ? ErrorCode::app_error : static_cast<ErrorCode>(first->reason);
  const Ending ending = any_unknown ? Ending::node_lost : Ending::app_error;
  return tl::unexpected(Failure{ending, reason, true, std::move(text)});
}

}  // namespace

Future<void> multicast_call(std::vector<NodeHandle> nodes, FunctionCode& function,
                            std::vector<std::byte> arguments) {
  if (nodes.empty()) {
    return known<void>(tl::unexpected(Failure{Ending::rejected, ErrorCode::invalid_argument, false,
                                              "a multicast to no nodes at all"}));
  }
  call::Caller& caller = nodes.front().caller();
  const call::FunctionRef& wanted = function.known_to(caller);
  const code::Bundle bundle = caller.engine().functions().bundle(wanted.bundle);
  const code::FunctionInfo& info = bundle.functions()[wanted.function];
  ops::NodeFunction code;
  std::memcpy(code.code.data(), wanted.bundle.digest.data(), code.code.size());
  std::vector<std::uint64_t> ids;
  for (const NodeHandle& node : nodes) ids.push_back(node.id());

  CallHandle call = CallHandle::prepare(caller);
  if (call) {
    const auto write = [&](BlobWriter& writer) {
      write_blob(writer, ops::kTreeFanOut, std::span<const std::uint64_t>(ids), code,
                 std::string_view(info.name), std::string_view(info.signature),
                 std::span<const std::byte>(arguments));
    };
    std::array<Blob, 13> parts;
    BlobWriter writer(call.small(), parts, SIZE_MAX);
    write(writer);
    if (!writer.fits()) {
      writer = BlobWriter(call.large(writer.copied()), parts, SIZE_MAX);
      write(writer);
    }
    call.start(nodes.front().id(), ops::function(ops::Op::call_nodes, caller),
               std::span(parts).first(writer.part_count()), caller.options().default_deadline);
  }
  std::string subject = fmt::format("multicast of '{}' to {} nodes", info.name, nodes.size());
  return Future<Failures>(std::move(call), &outcome_of<Failures>)
      .then([nodes = std::move(nodes),
             subject = std::move(subject)](Outcome<Failures> outcome) -> Outcome<void> {
        if (outcome) return joined(nodes, subject, *outcome);
        Failure failure = std::move(outcome).error();
        // What a function of ops refuses has not begun, and neither have those below it.
        if (failure.ending == Ending::app_error || !failure.may_have_started) {
          failure.message = fmt::format("{}: {}", subject, failure.message);
          if (failure.ending == Ending::app_error) failure.ending = Ending::rejected;
          failure.may_have_started = false;
          return tl::unexpected(std::move(failure));
        }
        Failures unknown;
        for (const NodeHandle& node : nodes) {
          unknown.push_back({node.id(), static_cast<std::uint32_t>(failure.reason), 0});
        }
        return joined(nodes, subject, unknown);
      });
}

}  // namespace godwit::detail
