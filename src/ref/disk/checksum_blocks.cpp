// A word adds to two lanes: as it is to its neighbour's, which no other change of one word undoes,
// and multiplied by itself, as its place in the sequence has changed it, to its own.
#include <cstring>

#include "ref/disk/checksum.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace godwit::ref::checksum_blocks {
namespace {

// What keys grow by from block to block.
constexpr std::uint64_t kKeyStep = 0x9E37'79B9'7F4A'7C15;

}  // namespace

void add_blocks_anywhere(Checksum::Lanes& lanes, Checksum::Lanes& keys, const std::byte* data,
                         std::byte* to, std::size_t count) noexcept {
  for (; count != 0; --count, data += Checksum::kBlock) {
    for (std::size_t lane = 0; lane < Checksum::kLanes; ++lane) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + lane * sizeof word, sizeof word);
      const std::uint64_t changed = word ^ keys[lane];
      keys[lane] += kKeyStep;
      lanes[lane ^ 1U] += word;
      lanes[lane] += (changed & 0xFFFF'FFFFU) * (changed >> 32U);
    }
    if (to != nullptr) {
      std::memcpy(to, data, Checksum::kBlock);
      to += Checksum::kBlock;
    }
  }
}

#ifdef __x86_64__
namespace {

constexpr int kSwapWords = 0x4E;

// Four lanes.
struct Half {
  __m256i lanes;
  __m256i keys;
};

[[gnu::target("avx2")]] inline __m256i load(const void* from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
[[gnu::target("avx2")]] inline void store(void* to, __m256i value) noexcept {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

[[gnu::target("avx2")]] inline void add(Half& half, __m256i words) noexcept {
  const __m256i changed = _mm256_xor_si256(words, half.keys);
  const __m256i product = _mm256_mul_epu32(changed, _mm256_srli_epi64(changed, 32));
  const __m256i sum = _mm256_add_epi64(half.lanes, _mm256_shuffle_epi32(words, kSwapWords));
  half.lanes = _mm256_add_epi64(sum, product);
  half.keys = _mm256_add_epi64(half.keys, _mm256_set1_epi64x(static_cast<long long>(kKeyStep)));
}

[[gnu::target("avx2")]] void add_blocks_avx2(Checksum::Lanes& lanes, Checksum::Lanes& keys,
                                             const std::byte* data, std::byte* to,
                                             std::size_t count) noexcept {
  constexpr std::size_t kHalf = Checksum::kBlock / 2;
  Half first{load(&lanes[0]), load(&keys[0])};
  Half second{load(&lanes[4]), load(&keys[4])};
  for (; count != 0; --count, data += Checksum::kBlock) {
    const __m256i low = load(data);
    const __m256i high = load(data + kHalf);
    if (to != nullptr) {
      store(to, low);
      store(to + kHalf, high);
      to += Checksum::kBlock;
    }
    add(first, low);
    add(second, high);
  }
  store(&lanes[0], first.lanes);
  store(&lanes[4], second.lanes);
  store(&keys[0], first.keys);
  store(&keys[4], second.keys);
}

}  // namespace

AddBlocks* add_blocks_with_avx2() noexcept {
  return __builtin_cpu_supports("avx2") != 0 ? &add_blocks_avx2 : nullptr;
}
#else
AddBlocks* add_blocks_with_avx2() noexcept {
  return nullptr;
}
#endif

}  // namespace godwit::ref::checksum_blocks
