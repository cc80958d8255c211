// What two processes see of each other in shared memory. docs/protocol.md is the specification.
//
// Nothing here is trusted: every word is loaded once, checked, and only then used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/memory/memfd.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::shm {

inline constexpr std::size_t kLineSize = 64;
inline constexpr std::size_t kMinRingSize = 64 * 1024;
inline constexpr std::size_t kMaxRingSize = 64 * 1024 * 1024;

// Links of one transport: as many as there are bits beside `asleep` in one line.
inline constexpr std::size_t kLinkWords = 7;
inline constexpr std::size_t kMaxLinks = kLinkWords * 64;

// Streams (bodies too large for one record) that are on their way at once over one link.
inline constexpr std::size_t kMaxStreams = 16;

// First page of a ring's memory; the records follow.
struct RingHeader {
  // Bytes consumed since the beginning. Written by the consumer, now and then.
  alignas(kLineSize) std::atomic<std::uint64_t> head;
  // Set by a producer that sleeps until there is room.
  alignas(kLineSize) std::atomic<std::uint32_t> want_space;
};
static_assert(sizeof(RingHeader) <= kPageSize);

// A process tells its peers how to reach it. Written by that process alone, rarely; its peers map
// it read-only.
struct alignas(kLineSize) DoorState {
  std::atomic<std::uint64_t> asleep;            // odd: ring the eventfd, once per value
  std::atomic<std::uint64_t> cold[kLinkWords];  // bit set: mark the link in DoorReady
};
static_assert(sizeof(DoorState) == kLineSize);

// Links with something to look at. Set by peers, cleared by the process.
struct alignas(kLineSize) DoorReady {
  std::atomic<std::uint64_t> ready[kLinkWords];
};
static_assert(sizeof(DoorReady) == kLineSize);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// A record starts at a multiple of kLineSize: 24 bytes of wire::Header, the record word in the
// place of the header's last field (a link of its own needs no token), then the body. Records never
// wrap: the ring is mapped twice in a row.
inline constexpr std::size_t kWordOffset = offsetof(wire::Header, link_token);
inline constexpr std::size_t kBodyOffset = sizeof(wire::Header);
static_assert(kWordOffset == 24 && kBodyOffset == 32);

enum class RecordKind : std::uint8_t {
  message = 1,  // a whole message
  begin = 2,    // a stream's header; body: its size, 64 bits
  data = 3,     // the stream's next bytes
  close = 4,    // the producer ended the link; nothing follows
};

// size (32 bits) | kind (8) | stream (8) | kWordMark (16). Never zero: zero means "not yet".
struct RecordWord {
  static constexpr std::uint64_t kMark = 0x6477;

  std::uint32_t size = 0;
  RecordKind kind = RecordKind::message;
  std::uint8_t stream = 0;

  [[nodiscard]] constexpr std::uint64_t pack() const noexcept {
    return size | static_cast<std::uint64_t>(kind) << 32 |
           static_cast<std::uint64_t>(stream) << 40 | kMark << 48;
  }
  // False: no word of ours.
  [[nodiscard]] static constexpr bool unpack(std::uint64_t packed, RecordWord& word) noexcept {
    const auto kind = static_cast<std::uint8_t>(packed >> 32);
    word.size = static_cast<std::uint32_t>(packed);
    word.kind = static_cast<RecordKind>(kind);
    word.stream = static_cast<std::uint8_t>(packed >> 40);
    return packed >> 48 == kMark && kind >= 1 && kind <= 4 && word.stream < kMaxStreams;
  }
};

[[nodiscard]] constexpr std::size_t record_size(std::size_t body_size) noexcept {
  return (kBodyOffset + body_size + kLineSize - 1) & ~(kLineSize - 1);
}
// The largest body of one record: less than the room a consumer that has caught up always leaves,
// so that no record waits for ever.
[[nodiscard]] constexpr std::size_t max_record_body(std::size_t ring_size) noexcept {
  return ring_size / 4 - kBodyOffset;
}

// The largest body that travels as one record over any ring.
inline constexpr std::size_t kSmallLimit = max_record_body(kMinRingSize);

}  // namespace godwit::fabric::shm
