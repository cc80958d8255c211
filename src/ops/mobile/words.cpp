// One element of 1, 2, 4 or 8 bytes: the shortest messages there are. All on the polling thread.
//
// Everything that changes such an element, on whatever path, does so with one atomic instruction
// of the home's CPU; so these are atomic with each other.
#include "shard.hpp"

namespace godwit::ops {

std::uint64_t get_word(Here& here, std::uint64_t region, std::uint32_t shard,
                       std::uint64_t offset) {
  return LocalShard(here, {region, shard}, GODWIT_REGION_READ).with_word(offset, [](auto& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  });
}
GODWIT_EXPORT(get_word, inline_);

void put_word(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
              std::uint64_t value) {
  LocalShard(here, {region, shard}, GODWIT_REGION_WRITE).with_word(offset, [value](auto& word) {
    __atomic_store_n(&word, static_cast<std::remove_reference_t<decltype(word)>>(value),
                     __ATOMIC_RELEASE);
    return std::uint64_t{0};
  });
}
GODWIT_EXPORT(put_word, inline_);

// Returns what was there before; wraps around.
std::uint64_t fetch_add(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
                        std::uint64_t delta) {
  return LocalShard(here, {region, shard}, GODWIT_REGION_WRITE)
      .with_word(offset, [delta](auto& word) {
        return __atomic_fetch_add(
            &word, static_cast<std::remove_reference_t<decltype(word)>>(delta), __ATOMIC_ACQ_REL);
      });
}
GODWIT_EXPORT(fetch_add, inline_);

// Stores `desired` if the element equals `expected`; returns what was there before.
std::uint64_t compare_swap(Here& here, std::uint64_t region, std::uint32_t shard,
                           std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) {
  return LocalShard(here, {region, shard}, GODWIT_REGION_WRITE)
      .with_word(offset, [expected, desired](auto& word) {
        using Word = std::remove_reference_t<decltype(word)>;
        Word found = static_cast<Word>(expected);
        __atomic_compare_exchange_n(&word, &found, static_cast<Word>(desired), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return found;
      });
}
GODWIT_EXPORT(compare_swap, inline_);

}  // namespace godwit::ops
