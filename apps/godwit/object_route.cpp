#include "object_route.hpp"

#include <algorithm>
#include <vector>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "call/caller.hpp"
#include "command_line/byte_text.hpp"
#include "ref/access/access.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kQuestions = 31;
constexpr std::size_t kMostResolves = 15;
// Large objects are resolved less often: about so many bytes in all.
constexpr std::uint64_t kResolvedBytes = std::uint64_t{1} << 30;

template <class F>
Result<nanoseconds> timed(const F& f) {
  const auto began = steady_clock::now();
  GODWIT_CHECK(f());
  return Result<nanoseconds>(steady_clock::now() - began);
}

template <class F>
Result<nanoseconds> median_of(std::size_t times, const F& f) {
  std::vector<nanoseconds> all;
  for (std::size_t i = 0; i < times; ++i) {
    GODWIT_TRY(const nanoseconds one, timed(f));
    all.push_back(one);
  }
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return Result<nanoseconds>(all[all.size() / 2]);
}

// This process tells of its links, as nodes do.
Result<std::string> transport_to(const Fleet& fleet, std::uint64_t home) {
  call::Caller& caller = fleet.objects().asking().caller;
  const NodeHandle self(caller, caller.engine().options().self.value);
  GODWIT_TRY(const std::string text, fleet.status(self));
  GODWIT_TRY(const auto status, trace::JsonValue::parse(text));
  for (const trace::JsonValue& link : status["links"].items()) {
    if (link["peer_id"].text() == to_hex(home)) return std::string(link["transport"].text());
  }
  return fail(ErrorCode::unreachable, "there is no link to the home {}", to_hex(home));
}

void choose(ObjectRoute& route) {
  using Access = ref::ObjectAccess;
  const std::uint64_t size = route.object.handle.size;
  if (size <= Access::kSmall) {
    route.by = ResolvedBy::message;
    route.why = fmt::format("up to {} come in the home's answer{}", byte_text(Access::kSmall),
                            route.transport == "shm"
                                ? ", until a process that has asked before copies them from where "
                                  "the home shows them, and asks nobody"
                                : "");
  } else if (route.transport == "shm") {
    route.by = ResolvedBy::mapping;
    route.why = "its home is on this host, over shm: its memory is mapped, and nothing is copied";
  } else {
    const std::uint64_t pieces = (size + Access::kPieceBytes - 1) / Access::kPieceBytes;
    route.by = ResolvedBy::stream;
    route.why = fmt::format(
        "its home is reached over {}, which maps nothing: it is copied, in {} piece{} of up to {}, "
        "{} of them under way at a time",
        route.transport, pieces, pieces == 1 ? "" : "s", byte_text(Access::kPieceBytes),
        Access::kPiecesUnderWay);
  }
}

// A locate pins the version at its home.
Status locate(ref::ObjectAccess& access, const Handle& handle) {
  const NodeId home{handle.home};
  const wire::ObjectItem item{.handle = handle};
  GODWIT_TRY(const ref::AnsweredItem found,
             ref::ask_one(access.asking(), home, wire::ObjectOp::locate, item));
  if ((found.answer.fixed.flags & wire::ObjectAnswer::kInTail) != 0) return {};
  access.hold(home);
  access.release(home, found.answer.fixed.value, found.answer.fixed.size);
  return {};
}

Result<ObjectRoute::Measured> resolve(const detail::ObjectDoor& door, const Handle& handle) {
  ObjectRoute::Measured measured;
  const auto once = [&]() -> Status {
    GODWIT_TRY(const detail::ObjectView view, door.resolve(handle));
    measured.by = view.how;
    return {};
  };
  GODWIT_TRY(measured.first, timed(once));
  const std::size_t times = std::clamp<std::size_t>(
      kResolvedBytes / std::max<std::uint64_t>(handle.size, 1), 1, kMostResolves);
  GODWIT_TRY(measured.later, median_of(times, once));
  return measured;
}

}  // namespace

Result<ObjectRoute> explain_route(const Fleet& fleet, const Handle& handle, bool measure) {
  const detail::ObjectDoor door(fleet.objects());
  ObjectRoute route;
  GODWIT_TRY(route.object, door.status(handle));
  GODWIT_TRY(route.transport, transport_to(fleet, handle.home));
  const bool counted = route.object.lifetime == Lifetime::Kind::readers;
  if (route.object.pending) {
    route.why = "it is promised, and not there yet";
    return route;
  }
  choose(route);
  if (!route.object.channel.empty()) {
    GODWIT_TRY(route.decision, door.explain(handle));
    route.why = route.decision->why;
    if (route.decision->chosen == route.object.channel) route.by = ResolvedBy::channel;
  }
  if (measure && counted) {
    return fail(ErrorCode::invalid_argument,
                "object {} lives until it has been read {} times, and measuring reads it: leave "
                "--measure out",
                handle.object.short_hex(), route.object.readers_left);
  }
  // A locate without channels would have the home fetch the bytes.
  route.located = !counted && !route.decision;
  GODWIT_TRY(route.ask, median_of(kQuestions, [&]() -> Status {
               if (route.located) return locate(fleet.objects(), handle);
               GODWIT_CHECK(door.exists(handle));
               return {};
             }));
  if (measure) {
    GODWIT_TRY(route.measured, resolve(door, handle));
  }
  if (measure && route.decision) {
    GODWIT_TRY(route.decision, door.explain(handle));
  }
  return route;
}

}  // namespace godwit::cli
