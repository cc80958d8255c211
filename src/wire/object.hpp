// Questions about objects to their home, and its answers: the arguments and results of the
// functions in ref/mobile. docs/protocol.md is the spec.
//
// A request is a head, `count` items of 96 bytes, and a tail of bytes; an answer is one fixed part
// of 64 bytes for each item, and a tail. What belongs to an item in a tail stands there in the
// order of the items, each piece padded to 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::wire {

enum class ObjectOp : std::uint8_t {
  none = 0,
  // item: type and size of the handle, a PutTerms, b: 1 for a voucher; tail: its bytes. Answer: its
  // handle, and with kVouched a VoucherTerms behind it.
  put = 1,
  // item: size of the handle. Answer: value the ticket, segment, offset, size.
  reserve = 2,
  // item: a the ticket, b where, size of the handle; tail: so many bytes.
  write = 3,
  // item: a the ticket; type of the handle, and a PutTerms. Answer: its handle.
  commit = 4,
  abandon = 5,  // item: a the ticket
  // item: a handle, b: 1 for a voucher. Answer: version, size, type, and either its bytes in the
  // tail (kInTail), if all of them fit into `argument` bytes, or value the pin, segment, offset.
  // With kVouched the home lets the asker go on by itself: a VoucherTerms is the tail, or follows
  // the bytes in it.
  locate = 6,
  // item: a handle; a offset, b bytes in a piece, c from one piece to the next, d pieces. Answer:
  // the pieces one after another, in the tail; with kChecksum value a checksum of them.
  // `argument`: 0, or a pin of the caller's that keeps the version.
  read = 7,
  release = 8,        // tail: pins, 8 bytes each
  evict = 9,          // item: a handle
  exists = 10,        // item: a handle. Answer: value 1 or 0
  newest = 11,        // item: a handle. Answer: a handle
  describe = 12,      // item: a handle. Answer: an ObjectFacts in the tail, and a channel's name
  list = 13,          // `argument`: how many at most. Answer: ObjectFacts one after another
  set_lifetime = 14,  // item: a handle, and a PutTerms, of which the lifetime counts
  set_pinned = 15,    // item: a handle, a: 1 or 0
  restrict_to = 16,   // item: a handle, a: rights. Answer: a handle
  // item: a handle, a: a ticket, or 0: then the bytes are in the tail, and b says how many; c: the
  // borrow by which it is written, or 0. Answer: a handle.
  update = 17,
  own = 18,
  disown = 19,
  offer = 20,      // item: a handle, a: for how many ns. Answer: value the offer
  accept = 21,     // item: a handle, a: the offer
  borrow = 22,     // item: a handle, a: 0 to read, 1 to write. Answer: value the borrow
  give_back = 23,  // item: a the borrow
  drop = 24,       // item: a handle
  // item: type of the handle, a: for how many ns, PutTerms, b: bytes of tail, which names a
  // channel. Answer: a handle
  promise = 25,
  take_over = 26,      // item: a handle
  fulfil = 27,         // as update, with c 0
  break_promise = 28,  // item: a handle, a: an ErrorCode, b: bytes of tail, which says why
  // item: a handle, a: a version, or 0. Answers as locate does, of the newest version, once that is
  // newer than `a`, or for 0 once it is there. With c other than 0: only that it is so, or will
  // never be.
  wait = 29,
  renew = 30,
  leave = 31,  // the process ends: it holds nothing any more
  // item: c the size, b how many bytes of the tail are the name of a channel, a 0 for a new object,
  // or 1 for the next version of the handle's, or what was promised. Answer: value the ticket; with
  // kElsewhere the writer is to put the bytes into the channel that the tail ends with the name of,
  // after the object's id (16 bytes), under that version; else as reserve does.
  reserve_elsewhere = 32,
  // item: a handle, a: a pin that locate gave with kElsewhere. Brings the bytes into the home's
  // memory. Answer: as locate does, under the same pin.
  fetch = 33,
  // items: the handle that is spread, a: for how many ns copies are kept, b: children of a node at
  // most; and the handle of what the asked node makes its copy from (the home makes none). tail:
  // the nodes below it, 8 bytes each. `argument`: ns that it may take. Answer: SpreadFacts, of the
  // asked node first, in the tail.
  spread = 34,
};
inline constexpr std::uint8_t kObjectOps = 35;

struct ObjectRequest {
  ObjectOp op = ObjectOp::none;
  std::uint8_t flags = 0;
  std::uint8_t reserved[2]{};
  std::uint32_t count = 0;
  std::uint64_t argument = 0;
  std::uint64_t epoch = 0;  // of the process that asks: its lives are told apart
  std::uint64_t reserved_too = 0;

  // Of locate, read and wait: the asker has channels of its own.
  static constexpr std::uint8_t kHasChannels = 1;
  // Of read: the answer is to have a checksum.
  static constexpr std::uint8_t kChecksum = 2;
};
static_assert(sizeof(ObjectRequest) == 32);

// How long a new object lives, and where.
struct PutTerms {
  std::uint8_t lifetime = 0;  // a ref::LifetimeKind
  std::uint8_t flags = 0;     // kOwned, kPersist
  std::uint16_t reserved = 0;
  std::uint32_t readers = 0;
  std::int64_t lease_ns = 0;

  static constexpr std::uint8_t kOwned = 1;
  static constexpr std::uint8_t kPersist = 2;
};
static_assert(sizeof(PutTerms) == 16);

struct ObjectItem {
  Handle handle;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::uint64_t d = 0;

  // Stand in the place of c and d.
  void set_terms(const PutTerms& terms) noexcept;
  [[nodiscard]] PutTerms terms() const noexcept;
};
static_assert(sizeof(ObjectItem) == 96);

struct ObjectAnswer {
  std::uint32_t code = 0;  // an ErrorCode; if not 0 the tail has the reason
  std::uint32_t flags = 0;
  std::uint64_t tail_bytes = 0;  // of this item, without padding
  std::uint64_t value = 0;
  std::uint64_t version = 0;
  std::uint64_t size = 0;
  std::uint64_t type = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;

  static constexpr std::uint32_t kInTail = 1;
  // The tail is the name of a channel that has the bytes, under the object's id and the version; a
  // segment is named beside that if the home's memory has them, too.
  static constexpr std::uint32_t kElsewhere = 2;
  static constexpr std::uint32_t kVouched = 4;
  static constexpr std::uint32_t kChecksum = 8;
};
static_assert(sizeof(ObjectAnswer) == 64);

// For processes of the home's host: what was answered holds as long as the ticket's word does, in
// the memory that ask_segment of kCurrencySegment shares.
struct VoucherTerms {
  std::uint64_t ticket = 0;
  std::int64_t time_left_ns = -1;  // of a lease
};
static_assert(sizeof(VoucherTerms) == 16);
inline constexpr std::uint64_t kCurrencySegment = UINT64_MAX;

// What a home says of an object, beside its handle.
struct ObjectFacts {
  Handle handle;
  std::uint8_t lifetime = 0;
  std::uint8_t flags = 0;  // kPending...
  std::uint16_t reserved = 0;
  std::uint32_t readers_left = 0;
  std::int64_t time_left_ns = -1;  // of a lease
  std::uint64_t owner = 0;         // a process's id
  std::uint32_t pins = 0;
  std::uint32_t borrows = 0;
  std::uint64_t reads = 0;
  std::int64_t age_ns = 0;

  static constexpr std::uint8_t kPending = 1;
  static constexpr std::uint8_t kPersistent = 2;
  static constexpr std::uint8_t kSpilled = 4;
  static constexpr std::uint8_t kPinned = 8;
  static constexpr std::uint8_t kBorrowedForWriting = 16;
  static constexpr std::uint8_t kElsewhere = 32;  // in a channel, and not in memory
};
static_assert(sizeof(ObjectFacts) == 112);

inline constexpr std::size_t kMaxSpreadNodes = 4096;
inline constexpr std::uint32_t kMaxFanOut = 64;

// What became of a spread at one node.
struct SpreadFacts {
  std::uint64_t node = 0;
  std::uint64_t parent = 0;  // whose copy it made its own from
  std::uint64_t bytes = 0;
  std::int64_t took_ns = 0;
  Handle copy;
  std::uint32_t code = 0;  // an ErrorCode; 0: there is a copy
  std::uint32_t why_bytes = 0;
  char text[152]{};

  void set_error(std::uint32_t error, std::string_view reason) noexcept;  // as much as fits
  [[nodiscard]] std::string_view why() const noexcept;
};
static_assert(sizeof(SpreadFacts) == 256);
// Errors: bad_format.
[[nodiscard]] Result<std::vector<SpreadFacts>> parse_spread_facts(Bytes tail);

// The answer to ask_segment, with one descriptor.
struct SegmentGrant {
  std::uint64_t segment = 0;
  std::uint64_t size = 0;  // of its memory
};
static_assert(sizeof(SegmentGrant) == 16);
// Errors: bad_format.
[[nodiscard]] Result<SegmentGrant> parse_segment_grant(Bytes body);

inline constexpr std::size_t kObjectTailAlign = 16;
inline constexpr std::uint32_t kMaxObjectItems = 4096;
[[nodiscard]] constexpr std::size_t padded_tail(std::size_t bytes) noexcept {
  return (bytes + kObjectTailAlign - 1) / kObjectTailAlign * kObjectTailAlign;
}

struct ObjectRequestView {
  ObjectRequest head;
  std::span<const ObjectItem> items;
  Bytes tail;
};
// The bytes lie 8-byte aligned. Errors: bad_format.
[[nodiscard]] Result<ObjectRequestView> parse_object_request(Bytes bytes);

// One item's part of an answer.
struct ObjectAnswerView {
  ObjectAnswer fixed;
  Bytes tail;
};
// Errors: bad_format, unless it is the answer of exactly `count` items.
[[nodiscard]] Result<std::vector<ObjectAnswerView>> parse_object_answers(Bytes bytes,
                                                                         std::size_t count);
// The same of an answer to one item, without allocation.
[[nodiscard]] Result<ObjectAnswerView> parse_object_answer(Bytes bytes);
// Of an answer with kVouched: the end of its tail, which is taken off. None: there is none.
[[nodiscard]] std::optional<VoucherTerms> take_voucher(ObjectAnswerView& answer) noexcept;
// The handle in an answer's tail. Errors: bad_format.
[[nodiscard]] Result<Handle> handle_in(const ObjectAnswerView& answer);

}  // namespace godwit::wire
