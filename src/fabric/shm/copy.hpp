// Copies into memory that another core will read next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace godwit::fabric::shm {

// From here on a copy goes past this core's cache.
inline constexpr std::size_t kStreamedCopy = 2048;

// Like memcpy. Large copies do not pull the destination into this core's cache first, only for the
// reader to pull it out again. Ends with everything ordered before the next store.
inline void copy_for_peer(std::byte* to, const std::byte* from, std::size_t size) noexcept {
#if defined(__x86_64__)
  if (size >= kStreamedCopy) {
    const std::size_t lead = (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64;
    std::memcpy(to, from, lead);
    to += lead;
    from += lead;
    size -= lead;
    for (; size >= 64; size -= 64, to += 64, from += 64) {
      const auto* in = reinterpret_cast<const __m128i*>(from);
      auto* out = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(in);
      const __m128i b = _mm_loadu_si128(in + 1);
      const __m128i c = _mm_loadu_si128(in + 2);
      const __m128i d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    }
    std::memcpy(to, from, size);
    _mm_sfence();
    return;
  }
#endif
  std::memcpy(to, from, size);
}

}  // namespace godwit::fabric::shm
