// What one link has received of streams so far.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "fabric/shm/layout.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::shm {

// Bytes that unfinished streams of all links may hold together.
struct InboundBudget {
  std::size_t limit = 0;
  std::size_t used = 0;
};

class Inbox {
 public:
  struct Arrived {
    wire::Header header;
    Buffer body;
    bool discarded = false;
  };

  // The budget outlives the inbox.
  explicit Inbox(InboundBudget& budget) : budget_(budget) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;
  ~Inbox();

  // Starts a stream; one that exceeds the budget or the memory is received and thrown away.
  // False: the producer broke the protocol.
  [[nodiscard]] bool begin(std::uint8_t slot, const wire::Header& header, std::uint64_t size);
  // Takes the stream's next bytes, which may change while they are read. False as above.
  [[nodiscard]] bool append(std::uint8_t slot, Bytes bytes);
  // After append(): the stream is complete.
  [[nodiscard]] bool is_complete(std::uint8_t slot) const { return streams_[slot].left == 0; }
  [[nodiscard]] Arrived take(std::uint8_t slot);

 private:
  struct Stream {
    wire::Header header;
    Buffer body;
    std::uint64_t size = 0;
    std::uint64_t left = 0;
    bool active = false;
    bool discarded = false;
  };

  InboundBudget& budget_;
  std::array<Stream, kMaxStreams> streams_;
};

}  // namespace godwit::fabric::shm
