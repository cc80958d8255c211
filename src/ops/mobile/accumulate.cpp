// Numbers added to elements, or joined with them otherwise. Atomic with everything else that
// changes them, on whatever thread.
#include <godwit/mobile/update.hpp>

#include "numbers.hpp"

namespace godwit::ops {
namespace {

using Data = std::span<const std::byte>;
using Offsets = std::span<const std::uint64_t>;

template <class T>
T joined(Join join, T a, T b) noexcept {
  switch (join) {
    case Join::min: return b < a ? b : a;
    case Join::max: return b > a ? b : a;
    case Join::add: break;
  }
  return wrapping_sum(a, b);
}

template <class T>
void check_size(const LocalShard& shard) {
  if (shard.element_size() == sizeof(T)) return;
  refuse(kTypeMismatch, "the elements have %u bytes, and the numbers %zu", shard.element_size(),
         sizeof(T));
}

// All offsets are checked before the first element changes.
void add_list(Here& here, ShardRef where, std::uint32_t number, Offsets offsets, Data numbers) {
  const LocalShard shard(here, where, GODWIT_REGION_WRITE);
  with_number(number, [&]<class T>(T) {
    check_size<T>(shard);
    if (numbers.size() != offsets.size() * sizeof(T)) {
      refuse(kTypeMismatch, "%zu places for %zu bytes of numbers of %zu", offsets.size(),
             numbers.size(), sizeof(T));
    }
    for (const std::uint64_t offset : offsets) static_cast<void>(shard.range(offset, 1));
    const std::byte* from = numbers.data();
    for (const std::uint64_t offset : offsets) {
      T delta;
      std::memcpy(&delta, from, sizeof delta);
      from += sizeof delta;
      change_element(reinterpret_cast<T*>(shard.range(offset, 1)),
                     [&](T value) { return wrapping_sum(value, delta); });
    }
  });
}

}  // namespace

// Returns what was there before.
std::uint64_t accumulate(Here& here, std::uint64_t region, std::uint32_t shard,
                         std::uint64_t offset, std::uint32_t number, std::uint32_t join,
                         std::uint64_t operand) {
  const LocalShard home(here, {region, shard}, GODWIT_REGION_WRITE);
  if (join > static_cast<std::uint32_t>(Join::max)) refuse(kInvalidArgument, "no join %u", join);
  return with_number(number, [&]<class T>(T) {
    check_size<T>(home);
    const T value = number_from<T>(operand);
    return bits_of(change_element(reinterpret_cast<T*>(home.range(offset, 1)), [&](T found) {
      return joined(static_cast<Join>(join), found, value);
    }));
  });
}
GODWIT_EXPORT(accumulate, inline_);

void scatter_add(Here& here, std::uint64_t region, std::uint32_t shard, std::uint32_t number,
                 Offsets offsets, Data numbers) {
  add_list(here, {region, shard}, number, offsets, numbers);
}
GODWIT_EXPORT(scatter_add, inline_);

void scatter_add_bulk(Here& here, std::uint64_t region, std::uint32_t shard, std::uint32_t number,
                      Offsets offsets, Data numbers) {
  add_list(here, {region, shard}, number, offsets, numbers);
}
GODWIT_EXPORT(scatter_add_bulk);

}  // namespace godwit::ops
