// Copies into memory that another core will read next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/copy_fresh.hpp"
#include "base/cycles.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace godwit::fabric::shm {

// A streamed copy goes past this core's cache to memory, and does not first fetch lines that the
// reader's cache holds. Whether that pays depends on how far apart the two cores are, which changes
// while a virtual machine runs: measured round trips of 4 KiB are 1.2 us plain and 1.5 us streamed
// between neighbours, 4.8 and 1.6 us between distant cores. So a writer tries now and then.
//
// One per ring; the producer's.
class PeerCopy {
 public:
  // Smaller copies are plain (their cost tells nothing: the fence's is larger), these and larger
  // ones always streamed.
  static constexpr std::size_t kPlainBelow = 2048;
  static constexpr std::size_t kStreamedFrom = 16 * 1024;

  // Like memcpy. Ends with everything ordered before the next store.
  void copy(std::byte* to, const std::byte* from, std::size_t size) noexcept {
#if defined(__x86_64__)
    if (size >= kPlainBelow) [[unlikely]] {
      choose(to, from, size);
      return;
    }
#endif
    copy_fresh(to, from, size);
  }

 private:
#if defined(__x86_64__)
  // One in so many copies is a plain one whose time is taken.
  static constexpr std::uint32_t kCopiesPerProbe = 32;
  static constexpr std::size_t kLine = 64;
  // A line that a neighbour's cache holds takes about 9 cycles of the time stamp counter to write,
  // a distant one's about 60; reading the counter and the fence take some too.
  static constexpr std::uint64_t kFarCyclesPerLine = 25;
  static constexpr std::uint64_t kProbeCycles = 150;

  void choose(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    if (size >= kStreamedFrom) {
      stream(to, from, size);
    } else if (copies_++ % kCopiesPerProbe == 0) {
      const std::uint64_t before = cycles();
      std::memcpy(to, from, size);
      _mm_mfence();  // stores wait in the core's own buffer otherwise
      far_ = cycles() - before > kProbeCycles + kFarCyclesPerLine * (size / kLine + 1);
    } else if (far_) {
      stream(to, from, size);
    } else {
      std::memcpy(to, from, size);
    }
  }

  static void stream(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    const std::size_t lead = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
    std::memcpy(to, from, lead);
    to += lead;
    from += lead;
    size -= lead;
    for (; size >= kLine; size -= kLine, to += kLine, from += kLine) {
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
  }

  std::uint32_t copies_ = 0;
  bool far_ = false;
#endif
};

}  // namespace godwit::fabric::shm
