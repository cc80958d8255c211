// A hash table with open addressing whose probes stay on one shard: a key's slot is looked for from
// where its hash says, around that shard.
//
// Slots are read and written under their version, so that all these functions, on whatever threads,
// see entries whole.
#include "hash_slots.hpp"
#include "traversal.hpp"

namespace godwit::ops {
namespace {

constexpr std::uint32_t kNoRoom = 302;

// The slot as it was at one moment.
SeenSlot look(HashSlot& slot) {
  SeenSlot seen;
  if (!look_at(slot, seen)) refuse(kNoRoom, "a slot is being written all the time; try again");
  return seen;
}

// Changes a slot that has not changed since it was seen; false: it has.
bool replace(HashSlot& slot, const SeenSlot& seen, std::uint64_t key, std::uint64_t value) {
  std::uint64_t version = seen.version;
  if (!__atomic_compare_exchange_n(&slot.version, &version, version + 1, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return false;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __atomic_store_n(&slot.key, key, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.value, value, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.version, seen.version + 2, __ATOMIC_RELEASE);
  return true;
}

// The slots of this node in the order in which a key looks at them.
class Probes {
 public:
  Probes(std::span<HashSlot> slots, const RegionView<HashSlot>& table, std::uint64_t key)
      : slots_(slots) {
    const std::uint64_t first = hash_of_key(key) % table.size();
    if (!table.owns(first))
      refuse(kInvalidArgument, "key %llu belongs to another node", as_printed(key));
    at_ = table.map().locate(first).offset;
    left_ = slots.size() < kMaxProbes ? slots.size() : kMaxProbes;
  }
  // Null: there are no more.
  HashSlot* next() {
    if (left_ == 0) return nullptr;
    --left_;
    HashSlot* const slot = &slots_[at_];
    at_ = at_ + 1 == slots_.size() ? 0 : at_ + 1;
    return slot;
  }

 private:
  std::span<HashSlot> slots_;
  std::uint64_t at_ = 0;
  std::uint64_t left_ = 0;
};

std::span<HashSlot> slots_of(const RegionView<HashSlot>& table) {
  const auto slots = table.local();  // read with atomic loads only, which take no const
  return {const_cast<HashSlot*>(slots.data()), slots.size()};
}

}  // namespace

HashAnswer hash_get(Here& here, std::uint64_t region, std::uint64_t key) {
  const auto table = here.region<HashSlot>(region);
  Probes probes(slots_of(table), table, key);
  while (HashSlot* const slot = probes.next()) {
    const SeenSlot seen = look(*slot);
    if (seen.version == 0) return {};
    if (seen.key == key) return {1, seen.value};
  }
  return {};
}
GODWIT_EXPORT(hash_get, inline_);

// Answers with what was there before.
HashAnswer hash_put(Here& here, std::uint64_t region, std::uint64_t key, std::uint64_t value) {
  const auto table = here.writable_region<HashSlot>(region);
  Probes probes(table.local(), table, key);
  HashSlot* slot = probes.next();
  while (slot != nullptr) {
    const SeenSlot seen = look(*slot);
    if (seen.version != 0 && seen.key != key) {
      slot = probes.next();
    } else if (replace(*slot, seen, key, value)) {
      return {seen.version == 0 ? 0U : 1U, seen.value};
    }
  }
  refuse(kNoRoom, "no room for key %llu near its place: make the table larger", as_printed(key));
}
GODWIT_EXPORT(hash_put, inline_);

}  // namespace godwit::ops
