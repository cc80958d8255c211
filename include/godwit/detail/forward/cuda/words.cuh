// Items as the widest words that their size allows: how they are read, staged and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace godwit::cuda::detail {

template <std::size_t size>
struct Words {
  using Word = std::conditional_t<
      size % 16 == 0, uint4,
      std::conditional_t<size % 8 == 0, std::uint64_t,
                         std::conditional_t<size % 4 == 0, std::uint32_t, std::uint8_t>>>;
  static constexpr std::uint32_t kCount = size / sizeof(Word);
  // In shared memory items stand so that threads that each access their own item meet in no bank.
  static constexpr std::uint32_t kStride = kCount % 2 == 0 ? kCount + 1 : kCount;
  Word at[kCount];
};

template <class T>
__device__ inline T load_item(const std::byte* from) {
  using Packed = Words<sizeof(T)>;
  Packed words;
  const auto* const source = reinterpret_cast<const typename Packed::Word*>(from);
#pragma unroll
  for (std::uint32_t i = 0; i < Packed::kCount; ++i) words.at[i] = source[i];
  return __builtin_bit_cast(T, words);
}

template <class T>
__device__ inline void store_item(std::byte* to, const T& item) {
  using Packed = Words<sizeof(T)>;
  const auto words = __builtin_bit_cast(Packed, item);
  auto* const target = reinterpret_cast<typename Packed::Word*>(to);
#pragma unroll
  for (std::uint32_t i = 0; i < Packed::kCount; ++i) target[i] = words.at[i];
}

}  // namespace godwit::cuda::detail
