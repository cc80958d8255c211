// One direction of a link: records in memory shared by one producer and one consumer.
//
// The producer writes a record's bytes, makes sure that the place after it holds no record, and
// publishes the record word last. The consumer polls that word: no index is shared on the way, and
// a message of up to 32 bytes moves one cache line. The consumer hands space back now and then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"
#include "fabric/fence.hpp"
#include "fabric/memory/memfd.hpp"
#include "fabric/shm/copy.hpp"
#include "fabric/shm/layout.hpp"
#include "godwit/error.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::shm {

[[nodiscard]] inline std::atomic<std::uint64_t>& word_at(std::byte* record) noexcept {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(record + kWordOffset);
}

// The first page, then the rest twice in a row. `access` is that of the rest: the first page is
// always writable.
[[nodiscard]] Result<Mapping> map_ring(int fd, std::size_t ring_size, Access access);

class RingProducer {
 public:
  RingProducer() noexcept = default;
  // Maps a ring that the peer made. Errors: protocol_violation, resource_exhausted.
  [[nodiscard]] static Result<RingProducer> open(const Fd& memory, std::size_t ring_size);

  // False: no room for a record with that body now, beside `reserve` bytes for others.
  [[nodiscard]] bool has_room(std::size_t body_size, std::size_t reserve = 0) noexcept {
    const std::size_t needed = record_size(body_size) + kLineSize + reserve;
    if (tail_ + needed - head_ <= size_) [[likely]]
      return true;
    return refresh_head() && tail_ + needed - head_ <= size_;
  }
  // has_room() was true. The parts, one after another, are the record's body.
  void write(const wire::Header& header, std::span<const Bytes> parts, RecordWord word) noexcept {
    std::byte* const record = at(tail_);
    std::memcpy(record, &header, kWordOffset);
    std::byte* body = record + kBodyOffset;
    for (const Bytes part : parts) {
      if (part.empty()) continue;  // memcpy must not see its null
      copy_.copy(body, part.data(), part.size());
      body += part.size();
    }
    tail_ += record_size(word.size);
    word_at(at(tail_)).store(0, std::memory_order_relaxed);
    word_at(record).store(word.pack(), std::memory_order_release);
  }
  // Before sleeping without room: the consumer rings when it has handed space back. Look at
  // has_room() once more after a full fence.
  void want_space(bool wanted) noexcept {
    header().want_space.store(wanted ? 1 : 0, std::memory_order_seq_cst);
  }
  // The consumer has taken all records, as far as it has said: it does so before it sleeps.
  [[nodiscard]] bool is_drained() const noexcept {
    return header().head.load(std::memory_order_acquire) == tail_;
  }
  // The consumer handed back what it never got: the link must end.
  [[nodiscard]] bool is_violated() const noexcept { return violated_; }

 private:
  [[nodiscard]] RingHeader& header() const noexcept {
    return *reinterpret_cast<RingHeader*>(mapping_.data());
  }
  [[nodiscard]] std::byte* at(std::uint64_t position) const noexcept {
    return mapping_.data() + kPageSize + (position & (size_ - 1));
  }
  [[nodiscard]] bool refresh_head() noexcept;

  Mapping mapping_;
  std::size_t size_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;  // as last seen
  PeerCopy copy_;
  bool violated_ = false;
};

class RingConsumer {
 public:
  RingConsumer() noexcept = default;
  // `ring_size`: a power of two.
  [[nodiscard]] static Result<RingConsumer> create(std::size_t ring_size);
  // The memory, for the peer. Once it has it, the descriptor is no longer needed here.
  [[nodiscard]] Result<Fd> share() const { return duplicate(memory_); }
  void forget_memory() { memory_.reset(); }

  // The word of the record that is next, 0 for none.
  [[nodiscard]] std::uint64_t peek() const noexcept {
    return word_at(at(position_)).load(std::memory_order_acquire);
  }
  // Fetches the second line of the record that is next along with its word: a 64-byte body then
  // arrives in one transfer time, not two.
  void prefetch() const noexcept { __builtin_prefetch(at(position_) + kLineSize); }
  // The record's bytes; valid until advance(), and the producer may change them at any time.
  [[nodiscard]] const std::byte* record() const noexcept { return at(position_); }
  // Done with a record of that (checked) body size. True: a producer waits for the space, ring it.
  [[nodiscard]] bool advance(std::size_t body_size) noexcept {
    position_ += record_size(body_size);
    if (position_ - published_ < size_ / kPublishParts) [[likely]]
      return false;
    return publish();
  }
  // Hands all space back, before sleeping: so a producer sees that no record is left to ring for.
  // True: as advance().
  [[nodiscard]] bool hand_back_all() noexcept { return position_ != published_ && publish(); }

 private:
  // Space goes back to the producer in parts of this fraction of the ring.
  static constexpr std::size_t kPublishParts = 8;

  [[nodiscard]] RingHeader& header() const noexcept {
    return *reinterpret_cast<RingHeader*>(mapping_.data());
  }
  [[nodiscard]] std::byte* at(std::uint64_t position) const noexcept {
    return mapping_.data() + kPageSize + (position & (size_ - 1));
  }
  [[nodiscard]] bool publish() noexcept;

  Mapping mapping_;
  std::size_t size_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t published_ = 0;
  Fd memory_;
};

}  // namespace godwit::fabric::shm
