// What one link has yet to send: small messages that found the ring full, and streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/shm/layout.hpp"
#include "fabric/shm/ring.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::shm {

// Small messages go before the next fragment of any stream; streams take turns. The layer above
// bounds how much is here (transport.hpp).
class Outbox {
 public:
  // For a ring of that size: a fragment fills an eighth of it, and streams leave a quarter free.
  explicit Outbox(std::size_t ring_size)
      : fragment_size_(ring_size / 8 - kBodyOffset), reserve_(ring_size / 4) {}

  [[nodiscard]] bool is_empty() const {
    return small_.empty() && begun_.empty() && waiting_.empty();
  }
  [[nodiscard]] bool has_small() const { return !small_.empty(); }

  // Copies the parts. False: out of memory.
  [[nodiscard]] bool add_small(const wire::Header& header, std::span<const Bytes> parts,
                               std::size_t size);
  // Borrows the parts until pump() reports `tag`.
  void add_stream(const wire::Header& header, std::span<const Bytes> parts, std::size_t size,
                  std::uint64_t tag);

  // True: pump() would write something.
  [[nodiscard]] bool can_write(RingProducer& ring) const;
  // Writes at most `max_records` records; appends the tags of streams that are through. Returns
  // how many records it wrote.
  std::size_t pump(RingProducer& ring, std::size_t max_records, std::vector<std::uint64_t>& sent);

 private:
  struct Small {
    wire::Header header;
    Buffer body;
  };
  struct Stream {
    wire::Header header;
    std::vector<Bytes> parts;
    std::size_t part = 0;    // the one being sent
    std::size_t offset = 0;  // in that part
    std::uint64_t left = 0;
    std::uint64_t tag = 0;
    std::uint8_t slot = 0;
  };
  // At most this many parts of a scattered body go into one fragment.
  static constexpr std::size_t kPartsPerFragment = 16;

  [[nodiscard]] bool pump_small(RingProducer& ring);
  [[nodiscard]] bool pump_stream(RingProducer& ring, std::vector<std::uint64_t>& sent);
  void begin_next(RingProducer& ring);
  void send_fragment(Stream& stream, RingProducer& ring) const;

  std::size_t fragment_size_;
  std::size_t reserve_;  // room that streams leave to small messages
  std::deque<Small> small_;
  std::deque<Stream> begun_;    // at most kMaxStreams; the front one is next
  std::deque<Stream> waiting_;  // for one of those to end
  std::uint32_t used_slots_ = 0;
};

}  // namespace godwit::fabric::shm
