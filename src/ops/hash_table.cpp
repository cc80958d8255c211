#include "godwit/ops/hash_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/attachment.hpp"
#include "ops/decide.hpp"
#include "ops/mobile/hash_slots.hpp"

namespace godwit::ops {
namespace {

using Value = std::optional<std::uint64_t>;

Outcome<Value> value_of(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  const auto answer = detail::outcome_of<HashAnswer>(std::move(call));
  if (!answer) return tl::unexpected(answer.error());
  return answer->found != 0 ? Value(answer->value) : Value();
}

// The slot that a key is looked for from on.
Note place_of(const Attachment& region, const char* verb, std::uint64_t key) {
  const std::uint64_t slot = hash_of_key(key) % region.elements();
  return region.note(verb, slot, 1, region.map().locate(slot).shard);
}

Outcome<Value> busy(const Note& note) {
  return tl::unexpected(Failure{
      Ending::rejected, ErrorCode::overload, false,
      fmt::format("{}: a slot is being written all the time; try again", subject_of(note))});
}

// The offsets of a key's slots on its shard, in the order in which they are looked at.
struct Probes {
  std::uint64_t at = 0;
  std::uint64_t slots = 0;  // of the shard
  std::uint64_t left = 0;

  Probes(const Attachment& region, const Note& note)
      : at(region.map().locate(note.first).offset),
        slots(region.map().shard_elements(note.shard, region.elements())),
        left(std::min(slots, kMaxProbes)) {}
  // How many of the next lie side by side.
  [[nodiscard]] std::uint64_t run() const { return std::min(left, slots - at); }
  void skip(std::uint64_t count) {
    left -= count;
    at = at + count == slots ? 0 : at + count;
  }
};

Outcome<Value> look_directly(const Attachment& region, const Note& note, std::uint64_t key) {
  const region::MappedShard& shard = *region.shards()[note.shard].mapped;
  const auto* const slots = reinterpret_cast<const HashSlot*>(shard.data());
  Value found;
  for (Probes probes(region, note); probes.left > 0; probes.skip(1)) {
    SeenSlot seen;
    if (!look_at(slots[probes.at], seen)) {
      // A home that died while it wrote leaves the slot as it is.
      return shard.is_good() ? busy(note) : tl::unexpected(region.why_not_good(note));
    }
    if (seen.version == 0) break;
    if (seen.key != key) continue;
    found = seen.value;
    break;
  }
  if (!shard.is_good()) return tl::unexpected(region.why_not_good(note));
  return found;
}

// Slots as they were at one moment: what is read between two looks at the versions, if those are
// the same and nobody was writing.
Outcome<std::vector<HashSlot>> get_whole(const Region<HashSlot>& table, const Note& note,
                                         std::uint64_t first, std::uint64_t count) {
  constexpr int kMaxTries = 64;
  const auto same = [](const HashSlot& a, const HashSlot& b) {
    return a.version == b.version && a.version % 2 == 0;
  };
  for (int i = 0; i < kMaxTries; ++i) {
    const auto before = table.load(first, count);
    if (!before) return before;
    auto slots = table.load(first, count);
    if (!slots) return slots;
    const auto after = table.load(first, count);
    if (!after) return after;
    if (std::ranges::equal(*before, *after, same)) return slots;
  }
  return tl::unexpected(busy(note).error());
}

Outcome<Value> look_by_gets(const Region<HashSlot>& table, const Note& note, std::uint64_t key) {
  constexpr std::uint64_t kSlotsPerGet = 8;
  const Attachment& region = table.handle().attachment();
  Probes probes(region, note);
  while (probes.left > 0) {
    const std::uint64_t first = region.map().index_at({note.shard, probes.at});
    // Neighbours on a shard have neighbouring indices in blocks only.
    const bool in_a_row = region.map().has_one_run();
    const std::uint64_t count = in_a_row ? std::min(probes.run(), kSlotsPerGet) : 1;
    const auto slots = get_whole(table, note, first, count);
    if (!slots) return tl::unexpected(slots.error());
    for (const HashSlot& slot : *slots) {
      if (slot.version == 0) return Value();
      if (slot.key == key) return Value(slot.value);
    }
    probes.skip(count);
  }
  return Value();
}

}  // namespace

Future<Value> hash_get(const Region<HashSlot>& table, std::uint64_t key, Mechanism mechanism) {
  const Attachment& region = table.handle().attachment();
  const Note note = place_of(region, "hash_get", key);
  const bool mapped = region.shards()[note.shard].mapped != nullptr;
  if (mechanism == Mechanism::automatic) {
    const bool direct = mapped && table.handle().reach() == Reach::automatic;
    mechanism = direct ? Mechanism::direct : Mechanism::code;
  }
  switch (mechanism) {
    case Mechanism::direct:
      if (!mapped) return detail::known<Value>(tl::unexpected(not_mapped(region, "hash_get")));
      return detail::known(look_directly(region, note, key));
    case Mechanism::get:
      return detail::known(look_by_gets(table.through(Reach::message), note, key));
    default: return {region.call(Op::hash_get, note, region.id(), key), &value_of};
  }
}

Future<Value> hash_put(const Region<HashSlot>& table, std::uint64_t key, std::uint64_t value) {
  const Attachment& region = table.handle().attachment();
  const Note note = place_of(region, "hash_put", key);
  return {region.call(Op::hash_put, note, region.id(), key, value), &value_of};
}

}  // namespace godwit::ops
