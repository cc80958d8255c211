#include "godwit/ops/hash_table.hpp"

#include "ops/attachment.hpp"

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

}  // namespace

Future<Value> hash_get(const Region<HashSlot>& table, std::uint64_t key) {
  const Attachment& region = table.handle().attachment();
  const Note note = place_of(region, "hash_get", key);
  return {region.call(Op::hash_get, note, region.id(), key), &value_of};
}

Future<Value> hash_put(const Region<HashSlot>& table, std::uint64_t key, std::uint64_t value) {
  const Attachment& region = table.handle().attachment();
  const Note note = place_of(region, "hash_put", key);
  return {region.call(Op::hash_put, note, region.id(), key, value), &value_of};
}

}  // namespace godwit::ops
