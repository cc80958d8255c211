// Changes of whole elements, of any size and of several at once. All on the polling thread, which
// makes them one step for everything else that runs there: puts, atomics and these.
#include <godwit/mobile/vector.hpp>
#include <godwit/ops/parts.hpp>

#include "shard.hpp"

namespace godwit::ops {
namespace {

using Data = std::span<const std::byte>;
using Offsets = std::span<const std::uint64_t>;

void check_bytes(std::size_t bytes) {
  if (bytes <= kMaxUpdateBytes) return;
  refuse(kTooLarge, "%zu bytes in one step; the limit is %zu", bytes, kMaxUpdateBytes);
}

}  // namespace

// Stores `desired` if the element's bytes from `from` on are `expected`; returns the element as it
// was before.
std::vector<std::byte> put_if(Here& here, std::uint64_t region, std::uint32_t shard,
                              std::uint64_t offset, std::uint32_t from, Data expected,
                              Data desired) {
  const LocalShard home(here, {region, shard}, GODWIT_REGION_WRITE);
  const std::uint32_t size = home.element_size();
  check_bytes(size);
  if (desired.size() != size || expected.size() > size || from > size - expected.size()) {
    refuse(kTypeMismatch,
           "%zu bytes to compare from byte %u on, and %zu to store, of elements of %u",
           expected.size(), from, desired.size(), size);
  }
  std::vector<std::byte> before(size);
  const auto holds = [&] {
    return expected.empty() ||
           std::memcmp(before.data() + from, expected.data(), expected.size()) == 0;
  };
  if (home.is_word()) {
    // One instruction: others may change words on other threads.
    home.with_word(offset, [&](auto& word) {
      auto found = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
      auto wanted = found;
      std::memcpy(&wanted, desired.data(), size);
      do {
        std::memcpy(before.data(), &found, size);
      } while (holds() && !__atomic_compare_exchange_n(&word, &found, wanted, false,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
      return std::uint64_t{0};
    });
    return before;
  }
  std::byte* const at = home.range(offset, 1);
  std::memcpy(before.data(), at, size);
  if (holds()) std::memcpy(at, desired.data(), size);
  return before;
}
GODWIT_EXPORT(put_if, inline_);

// Stores all of `desired` if all of `expected` is there; returns the elements as they were before.
std::vector<std::byte> compare_swap_all(Here& here, std::uint64_t region, std::uint32_t shard,
                                        Offsets offsets, Data expected, Data desired) {
  const LocalShard home(here, {region, shard}, GODWIT_REGION_WRITE);
  const std::uint32_t size = home.element_size();
  const std::size_t bytes = offsets.size() * size;
  check_bytes(bytes);
  if (expected.size() != bytes || desired.size() != bytes || offsets.size() > kMaxSwaps) {
    refuse(kTypeMismatch, "%zu places for %zu and %zu bytes of elements of %u", offsets.size(),
           expected.size(), desired.size(), size);
  }
  std::vector<std::byte> before(bytes);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    copy_element(before.data() + i * size, home.range(offsets[i], 1), size);
  }
  if (bytes == 0 || std::memcmp(before.data(), expected.data(), bytes) != 0) return before;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    copy_element(home.range(offsets[i], 1), desired.data() + i * size, size);
  }
  return before;
}
GODWIT_EXPORT(compare_swap_all, inline_);

// Puts records behind those that a shard has, and counts them in element 0 of its shard of the
// other region, after they are there. Returns the index of the first.
std::uint64_t append(Here& here, std::uint64_t records, std::uint64_t counts, std::uint32_t shard,
                     Data elements) {
  const LocalShard log(here, {records, shard}, GODWIT_REGION_WRITE);
  const LocalShard counters(here, {counts, shard}, GODWIT_REGION_WRITE);
  const std::uint32_t size = log.element_size();
  check_bytes(elements.size());
  if (elements.empty() || elements.size() % size != 0) {
    refuse(kTypeMismatch, "%zu bytes are no whole number of records of %u", elements.size(), size);
  }
  if (counters.element_size() != sizeof(std::uint64_t)) {
    refuse(kTypeMismatch, "counts have 8 bytes, not %u", counters.element_size());
  }
  auto* const count = reinterpret_cast<std::uint64_t*>(counters.range(0, 1));
  const std::uint64_t used = __atomic_load_n(count, __ATOMIC_ACQUIRE);
  const std::uint64_t more = elements.size() / size;
  if (used > log.elements() || more > log.elements() - used) {
    refuse(kResourceExhausted, "the log is full: %llu records of %llu, and %llu more",
           as_printed(used), as_printed(log.elements()), as_printed(more));
  }
  std::memcpy(log.range(used, more), elements.data(), elements.size());
  __atomic_store_n(count, used + more, __ATOMIC_RELEASE);
  return log.index_of(used);
}
GODWIT_EXPORT(append, inline_);

}  // namespace godwit::ops
