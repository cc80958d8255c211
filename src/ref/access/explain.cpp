// Why an object's bytes come the way they do.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "ref/access/access.hpp"
#include "ref/access/kept_views.hpp"
#include "ref/access/mappings.hpp"
#include "ref/access/measured_paths.hpp"

namespace godwit {

std::string to_text(const ResolveDecision& decision) {
  std::string text = fmt::format(
      "object {} of node {:016x}, {} bytes, in {}{}\nresolved by {}: {}\n\n"
      "{:<12} {:>12} {:>9} {:>12} {:>12}  {}\n",
      decision.handle.object.short_hex(), decision.handle.home, decision.handle.size,
      decision.channel == "memory" ? "its home's memory" : "channel " + decision.channel,
      decision.channel != "memory" && decision.in_memory ? " and its home's memory" : "",
      decision.chosen, decision.why, "path", "expected us", "measured", "last us", "last bytes",
      "");
  for (const ResolvePath& path : decision.paths) {
    const auto last = [&](const std::string& figure) { return path.measured != 0 ? figure : "-"; };
    text += fmt::format("{:<12} {:>12} {:>9} {:>12} {:>12}  {}\n", path.name,
                        path.possible ? fmt::format("{:.1f}", path.expected_us) : "-",
                        path.measured, last(fmt::format("{:.1f}", path.last_us)),
                        last(std::to_string(path.last_bytes)), path.why);
  }
  return text;
}

}  // namespace godwit

namespace godwit::ref {
namespace {

ResolvePath path_of(std::string name, const MeasuredCost& cost, std::uint64_t size) {
  return {.name = std::move(name),
          .expected_us = cost.estimate_us(size),
          .measured = cost.count(),
          .last_us = cost.last_us(),
          .last_bytes = cost.last_bytes()};
}

}  // namespace

Result<ResolveDecision> ObjectAccess::explain(const Handle& handle) {
  GODWIT_TRY(const AnsweredItem answered, tell(wire::ObjectOp::describe, {.handle = handle}));
  wire::ObjectFacts facts;
  if (answered.answer.tail.size() < sizeof facts) {
    return fail(ErrorCode::bad_format, "the home describes the object in an unknown way");
  }
  std::memcpy(&facts, answered.answer.tail.data(), sizeof facts);
  ResolveDecision decision;
  decision.handle = facts.handle;
  decision.channel = text_of(answered.answer.tail.subspan(sizeof facts));
  decision.in_memory = (facts.flags & wire::ObjectFacts::kElsewhere) == 0;
  const bool in_channel = !decision.channel.empty();
  if (!in_channel) decision.channel = "memory";
  const std::uint64_t size = facts.handle.size;
  const NodeId home{handle.home};
  const MeasuredPaths standard;
  const MeasuredPaths& paths = paths_ != nullptr ? *paths_ : standard;

  Path by_memory = Path::mapping;
  if (is_own(home)) {
    by_memory = Path::pointer;
  } else if (size <= kSmall) {
    by_memory = kept_->shown(handle) ? Path::copy : Path::message;
  } else if (mappings_->is_far(home)) {
    by_memory = Path::stream;
  }
  const std::string_view by_memory_name = to_string(static_cast<ResolvedBy>(by_memory));
  ResolvePath memory =
      path_of(std::string(by_memory_name),
              decision.in_memory ? paths.resolved(by_memory) : paths.by_home(), size);
  if (!decision.in_memory) memory.why = "its home fetches it from the channel first";
  if (!in_channel) {
    decision.chosen = memory.name;
    decision.why = by_memory == Path::copy
                       ? "its home, on this host, shows where it lies: nobody is asked"
                       : "its bytes are in its home's memory, and nowhere else";
    decision.paths.push_back(std::move(memory));
    return decision;
  }
  std::string why_not;
  const bool readable_here = !is_own(home) && readable(decision.channel, size, why_not) != nullptr;
  if (is_own(home)) why_not = "this process is the home";
  NamedChannel* const channel = channels_ != nullptr ? channels_->find(decision.channel) : nullptr;
  ResolvePath direct = channel != nullptr
                           ? path_of(decision.channel, channel->cost(NamedChannel::Way::get), size)
                           : ResolvePath{.name = decision.channel};
  direct.possible = readable_here;
  direct.why = why_not;
  // As resolve() does: what is in the home's memory is taken from there unless it has to be copied.
  const bool mapped = decision.in_memory && by_memory != Path::stream;
  if (readable_here && !mapped) {
    decision.chosen = direct.name;
    decision.why = decision.in_memory
                       ? "it would have to be copied from the home, which is on another host"
                       : "the channel has it, answers, and is not dearer than by way of the home";
    decision.paths = {std::move(direct), std::move(memory)};
  } else {
    decision.chosen = memory.name;
    decision.why = mapped ? "its home has a copy in memory" : why_not;
    decision.paths = {std::move(memory), std::move(direct)};
  }
  return decision;
}

}  // namespace godwit::ref
