// What the archive of the storage benchmark is made of; known to mobile code and clients alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <godwit/struct.hpp>

namespace storage {

// One cache line. `key` is spread evenly, so that a bound selects a share of the records.
struct Record {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  std::uint32_t key = 0;
  std::uint32_t kind = 0;
  std::array<std::uint64_t, 5> payload{};

  // The same everywhere, from its number alone.
  [[nodiscard]] static constexpr Record of(std::uint64_t id) noexcept {
    std::uint64_t mixed = (id + 1) * 0x9E37'79B9'7F4A'7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    mixed ^= mixed >> 31U;
    Record record{
        .id = id, .value = mixed & 0xFFFFFFU, .key = static_cast<std::uint32_t>(mixed >> 32U)};
    record.payload.fill(mixed);
    return record;
  }
};
GODWIT_STRUCT(Record, id, value, key, kind, payload);

// Of the records that a filter lets through.
struct Summary {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t greatest = 0;

  constexpr void add(const Record& record) noexcept {
    ++count;
    sum += record.value;
    least = std::min(least, record.value);
    greatest = std::max(greatest, record.value);
  }
  constexpr void add(const Summary& other) noexcept {
    count += other.count;
    sum += other.sum;
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
  friend bool operator==(const Summary&, const Summary&) = default;
};
GODWIT_STRUCT(Summary, count, sum, least, greatest);

}  // namespace storage
