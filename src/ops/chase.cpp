#include <algorithm>

#include "base/fail.hpp"
#include "godwit/ops.hpp"
#include "ops/attachment.hpp"
#include "ops/decide.hpp"
#include "ops/mobile/chased.hpp"

namespace godwit::ops {
namespace {

using Reached = Outcome<std::uint64_t>;

Outcome<Chased> chased_of(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  return detail::outcome_of<Chased>(std::move(call));
}

// Of a chase that one call can end.
Reached reached_of(detail::CallHandle call) {
  const Outcome<Chased> chased = chased_of(std::move(call));
  if (!chased) return tl::unexpected(chased.error());
  if (chased->steps == 0) return chased->at;
  return tl::unexpected(
      Failure{Ending::rejected, ErrorCode::hop_limit, true,
              fmt::format("chase: {} steps were left at element {} when the call had made all its "
                          "hops; see max_hops",
                          chased->steps, chased->at)});
}

detail::CallHandle travel(const Attachment& region, std::uint64_t at, std::uint64_t steps) {
  const Note note = region.note("chase", at, 1, region.map().locate(at).shard);
  return region.call(Op::chase, note, region.id(), at, steps);
}

// Goes on from wherever a call had to stop.
Future<std::uint64_t> travel_far(Region<std::uint64_t> list, std::uint64_t at,
                                 std::uint64_t steps) {
  Chased chased{at, steps};
  while (chased.steps > 0) {
    const std::uint64_t before = chased.steps;
    auto outcome = co_await Future<Chased>(
        travel(list.handle().attachment(), chased.at, chased.steps), &chased_of);
    if (!outcome) co_return Reached(tl::unexpected(outcome.error()));
    chased = *outcome;
    if (chased.steps >= before || !list.handle().check("chase", chased.at, 1)) {
      co_return Reached(tl::unexpected(Failure{Ending::rejected, ErrorCode::hop_limit, true,
                                               "chase: a node let it make no step"}));
    }
  }
  co_return Reached(chased.at);
}

Failure led_out(const Attachment& region, std::uint64_t at) {
  return {Ending::rejected, ErrorCode::invalid_argument, true,
          fmt::format("chase: the list in region '{}' leads to {}, beyond its {} elements",
                      region.name(), at, region.elements())};
}

// Everything that was loaded counts only if every home it may have come from still lives.
Outcome<void> check_homes(const Attachment& region, std::uint64_t from) {
  for (std::uint32_t i = 0; i < region.shards().size(); ++i) {
    if (region.shards()[i].mapped->is_good()) continue;
    return tl::unexpected(region.why_not_good(region.note("chase", from, 1, i)));
  }
  return {};
}

Reached follow_directly(const Attachment& region, std::uint64_t at, std::uint64_t steps) {
  const std::uint64_t from = at;
  const std::uint64_t elements = region.elements();
  const ShardMap map = region.map();
  std::array<const std::byte*, wire::kMaxRegionShards> shards{};
  for (std::size_t i = 0; i < region.shards().size(); ++i) {
    shards[i] = region.shards()[i].mapped->data();
  }
  for (; steps > 0 && at < elements; --steps) {
    const ShardPlace place = map.locate(at);
    at = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(shards[place.shard]) + place.offset,
                         __ATOMIC_RELAXED);
  }
  if (const auto good = check_homes(region, from); !good) return tl::unexpected(good.error());
  if (steps > 0) return tl::unexpected(led_out(region, at));
  return at;
}

// Through the mappings as far as the list's reach lets it.
Reached follow_by_gets(const Region<std::uint64_t>& list, std::uint64_t at, std::uint64_t steps) {
  for (; steps > 0; --steps) {
    const Attachment& region = list.handle().attachment();
    if (!region.check("chase", at, 1)) return tl::unexpected(led_out(region, at));
    const auto next = list.load(at);
    if (!next) return tl::unexpected(next.error());
    at = *next;
  }
  return at;
}

}  // namespace

Future<std::uint64_t> chase(const Region<std::uint64_t>& list, std::uint64_t at,
                            std::uint64_t steps, Mechanism mechanism) {
  const Attachment& region = list.handle().attachment();
  if (auto fits = list.handle().check("chase", at, 1); !fits) {
    return detail::known<std::uint64_t>(tl::unexpected(std::move(fits).error()));
  }
  if (mechanism == Mechanism::automatic) {
    mechanism = decide(list.handle(), {.amount = steps}, mechanism);
    if (mechanism == Mechanism::get) {
      if (steps == 1) return list.get(at);  // need not be waited for here
      return detail::known<std::uint64_t>(follow_by_gets(list, at, steps));
    }
  }
  switch (mechanism) {
    case Mechanism::direct:
      if (region.is_all_mapped()) {
        return detail::known<std::uint64_t>(follow_directly(region, at, steps));
      }
      return detail::known<std::uint64_t>(tl::unexpected(not_mapped(region, "chase")));
    case Mechanism::get:
      return detail::known<std::uint64_t>(follow_by_gets(list.through(Reach::message), at, steps));
    case Mechanism::automatic:
    case Mechanism::code: break;
  }
  if (steps > kStepsPerStay) return travel_far(list, at, steps);
  return Future<std::uint64_t>(travel(region, at, steps), &reached_of);
}

}  // namespace godwit::ops
