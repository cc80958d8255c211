// Slots of a hash table that others may be writing to; known to mobile code and clients alike.
#pragma once

#include <cstdint>

#include "godwit/ops/layout.hpp"

namespace godwit::ops {

// Slots looked at for one key: a table with room to spare needs a handful.
inline constexpr std::uint64_t kMaxProbes = 1024;
// Looks at a slot that somebody else is writing: more than a writer takes that is not interrupted.
inline constexpr std::uint32_t kMaxLooks = 1U << 20;

struct SeenSlot {
  std::uint64_t version = 0;
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

// The slot as it was at one moment. False: it is being written all the time.
[[nodiscard]] inline bool look_at(const HashSlot& shared, SeenSlot& seen) {
  HashSlot& slot = const_cast<HashSlot&>(shared);  // atomic loads take no const
  for (std::uint32_t looks = 0; looks < kMaxLooks; ++looks) {
    seen.version = __atomic_load_n(&slot.version, __ATOMIC_ACQUIRE);
    if (seen.version % 2 != 0) continue;
    // Both before the second look at the version.
    seen.key = __atomic_load_n(&slot.key, __ATOMIC_ACQUIRE);
    seen.value = __atomic_load_n(&slot.value, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot.version, __ATOMIC_RELAXED) == seen.version) return true;
  }
  return false;
}

}  // namespace godwit::ops
