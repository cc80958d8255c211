// Sealed records over a stream socket: what a link through a relay consists of once it is made.
//
// A record is a head of eight bytes {size of what follows in the low 24 bits of a word, kind in the
// high 8; the number of a body, or 0}, which is authenticated and not hidden, and the sealed text
// with its tag. Sealing and opening move the bytes between the caller's memory and the socket's
// buffer: they are the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/fd.hpp"
#include "fabric/relay/byte_queue.hpp"
#include "godwit/error.hpp"
#include "trust/seal.hpp"

namespace godwit::fabric::relay {

enum class RecordKind : std::uint8_t {
  beat = 0,     // nothing; a sign of life
  message = 1,  // a message's header and body
  first = 2,    // the header of a message whose body comes in pieces, and its size, u64
  more = 3,     // the next piece of that body
  bye = 4,      // the sender has nothing more to say
  hello = 5,    // Hello::blob; the first record of each side
};

// Not thread-safe; never blocks.
class SealedStream {
 public:
  static constexpr std::size_t kHeadSize = 8;
  // Of a record's text. Less would make more of the fixed costs, more would leave the cache.
  static constexpr std::size_t kMaxText = std::size_t{128} << 10;

  struct Record {
    RecordKind kind = RecordKind::beat;
    std::uint32_t stream = 0;
    std::size_t text_size = 0;
  };
  enum class Moved : std::uint8_t { some, none, ended };

  // `input`: what was read from the socket before.
  SealedStream(Fd socket, trust::Seal out, trust::Seal in, Bytes input);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  // Seals the parts, at most kMaxText together, as one record behind those that wait.
  [[nodiscard]] Status put(RecordKind kind, std::uint32_t stream, std::span<const Bytes> parts);
  // What waits to be written.
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return out_.size(); }
  // Writes what the socket takes now. none: nothing waits, or the socket is full.
  // Errors: link_lost.
  [[nodiscard]] Result<Moved> write();

  // Reads once. none: there is nothing; ended: the peer said its last. Errors: link_lost.
  [[nodiscard]] Result<Moved> read();
  // The record at the front, once all of it is here. Errors: protocol_violation.
  [[nodiscard]] Result<std::optional<Record>> next() const;
  // Opens it into `room`, of its text's size, and goes on to the next. Errors:
  // protocol_violation; the stream is of no use any more.
  [[nodiscard]] Status open(const Record& record, MutableBytes room);

 private:
  Fd socket_;
  trust::Seal sealer_;
  trust::Seal opener_;
  ByteQueue out_;
  ByteQueue in_;
  bool filled_ = false;  // the last read left no room
};

}  // namespace godwit::fabric::relay
