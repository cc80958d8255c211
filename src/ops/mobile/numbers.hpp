// Functions on elements of any number type: which one, a message says.
#pragma once

#include <cstdint>

#include "shard.hpp"

#include <godwit/ops/parts.hpp>

namespace godwit::ops {

// work(T{}) with the type that `number` stands for.
template <class Work>
auto with_number(std::uint32_t number, Work&& work) {
  switch (static_cast<Number>(number)) {
    case Number::u8: return work(std::uint8_t{});
    case Number::u16: return work(std::uint16_t{});
    case Number::u32: return work(std::uint32_t{});
    case Number::u64: return work(std::uint64_t{});
    case Number::i8: return work(std::int8_t{});
    case Number::i16: return work(std::int16_t{});
    case Number::i32: return work(std::int32_t{});
    case Number::i64: return work(std::int64_t{});
    case Number::f32: return work(float{});
    case Number::f64: return work(double{});
  }
  refuse(kInvalidArgument, "there is no number type %u", number);
}

// Adds as the hardware does: integers wrap around.
template <class T>
T wrapping_sum(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace godwit::ops
