// What operations on regions say to each other: small structs that clients and mobile code share.
// Light enough for mobile code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "godwit/struct.hpp"
#include "godwit/types.hpp"

namespace godwit::ops {

// One call's part of a tree over the shards of a region: this shard, and all that lie below it. The
// children of shard s are the shards s * fan_out + 1 to s * fan_out + fan_out; shard 0 is the root.
struct TreePart {
  std::uint64_t region = 0;
  std::uint32_t shard = 0;
  std::uint32_t fan_out = 0;

  [[nodiscard]] constexpr std::uint64_t first_child() const noexcept {
    return std::uint64_t{shard} * fan_out + 1;
  }
};
GODWIT_STRUCT(TreePart, region, shard, fan_out);

// A node waits for so many children: with 4 of them 192 shards, the most there are, lie 4 levels
// deep, and each level costs one message there and back.
inline constexpr std::uint32_t kTreeFanOut = 4;
inline constexpr std::uint32_t kMaxTreeFanOut = 16;

// One element of a region, as a message names it.
struct Element {
  std::uint64_t region = 0;
  std::uint64_t index = 0;
};
GODWIT_STRUCT(Element, region, index);

// A function that a multicast calls, without its name.
struct NodeFunction {
  std::array<std::uint8_t, 32> code{};
};
GODWIT_STRUCT(NodeFunction, code);

// A node at which a multicast's function did not end well.
struct NodeFailure {
  std::uint64_t node = 0;
  std::uint32_t reason = 0;    // an ErrorCode
  std::uint32_t is_known = 0;  // 1: it failed, or has not begun; 0: it may also have ended well
};
GODWIT_STRUCT(NodeFailure, node, reason, is_known);

// The change that a watch waits for: that the element is no longer what was last seen of it.
template <class T>
struct Change {
  std::uint64_t index = 0;
  T last_seen{};
  // How long a program waits, 0: as long as for any call. Mobile code waits until its own deadline.
  std::uint32_t at_most_ms = 0;
};

// Which number an element is, for functions that work on all of them.
enum class Number : std::uint8_t { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 };

template <class T>
concept AnyNumber = detail::Integer<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

template <AnyNumber T>
inline constexpr Number number_of = [] {
  if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? Number::f32 : Number::f64;
  } else {
    constexpr int kLog2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Number>(kLog2 + (std::is_signed_v<T> ? 4 : 0));
  }
}();

// What a sum of such numbers is kept in. Integers wrap around.
template <AnyNumber T>
using SumOf =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

// A number as the word that travels, and back.
template <class T>
[[nodiscard]] std::uint64_t bits_of(T value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
[[nodiscard]] T number_from(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Elements from `at_least` to `at_most`, both included. What is not a number lies in no range.
template <AnyNumber T>
struct Where {
  using Limits = std::numeric_limits<T>;
  T at_least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  T at_most = Limits::has_infinity ? Limits::infinity() : Limits::max();

  [[nodiscard]] bool holds(T value) const noexcept { return value >= at_least && value <= at_most; }
};

// Count, sum, least and greatest of numbers; sum, low and high are bits.
struct PackedAggregate {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};
GODWIT_STRUCT(PackedAggregate, count, sum, low, high);

template <AnyNumber T>
struct Aggregate {
  std::uint64_t count = 0;
  SumOf<T> sum = 0;
  T min = 0;  // of nothing: 0
  T max = 0;

  void add(T value) noexcept { add(Aggregate{1, static_cast<SumOf<T>>(value), value, value}); }
  void add(const Aggregate& other) noexcept {
    if (other.count == 0) return;
    if (count == 0 || other.min < min) min = other.min;
    if (count == 0 || other.max > max) max = other.max;
    count += other.count;
    if constexpr (std::is_floating_point_v<T>) {
      sum += other.sum;
    } else {
      sum = static_cast<SumOf<T>>(static_cast<std::uint64_t>(sum) +
                                  static_cast<std::uint64_t>(other.sum));
    }
  }

  [[nodiscard]] PackedAggregate packed() const noexcept {
    return {count, bits_of(sum), bits_of(min), bits_of(max)};
  }
  [[nodiscard]] static Aggregate from(const PackedAggregate& packed) noexcept {
    return {packed.count, number_from<SumOf<T>>(packed.sum), number_from<T>(packed.low),
            number_from<T>(packed.high)};
  }
  friend bool operator==(const Aggregate&, const Aggregate&) = default;
};

// An element's index and its bits.
struct PackedEntry {
  std::uint64_t index = 0;
  std::uint64_t value = 0;
};
GODWIT_STRUCT(PackedEntry, index, value);

template <AnyNumber T>
struct Entry {
  std::uint64_t index = 0;
  T value = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// One change of several that are made together.
template <class T>
struct Swap {
  std::uint64_t index = 0;
  T expected{};
  T desired{};
};

// How accumulate() joins an element and a value.
enum class Join : std::uint8_t { add, min, max };

// Limits of one operation: replies stay small, and stays on the polling thread short.
inline constexpr std::uint32_t kMaxTop = 65'536;
inline constexpr std::uint32_t kMaxBuckets = 65'536;
inline constexpr std::uint32_t kMaxSwaps = 64;
inline constexpr std::size_t kMaxUpdateBytes = 8192;
// What is asked of one home at a time without keeping its polling thread: up to so much is copied
// there in a microsecond or two. More goes to a worker.
inline constexpr std::size_t kInlineBytes = 8192;
inline constexpr std::size_t kInlineListed = 256;

}  // namespace godwit::ops
