// Questions about topics to their home, and its answers. They travel as those about objects do, and
// are told apart by the first byte. docs/protocol.md is the spec.
//
// A request is 64 bytes and a tail; an answer is an ObjectAnswer and its tail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "wire/object.hpp"

namespace godwit::wire {

enum class StreamOp : std::uint8_t {
  // tail: a TopicTerms and the name. a: 0, or a ref::stream::ProducerKind + 1 for the member to
  // become. b: the hash of the items' type, or 0. Answer: value the topic, size
  // its max_bytes.
  open = 128,
  find = 129,  // tail: the name. Answer: value the topic
  append =
      130,     // a: the sequence. b: a ticket (ObjectOp::reserve), or 0 and the batch is the tail.
               // Answer: value the offset of its first item
  join = 131,  // tail: a GroupTerms, and three texts. Answer: value the group
  // a: bytes at most, b: ns of the lease, count: items at most. Answer: value the lease, version
  // and
  // size where the delivery begins and ends, type how many slices; tail: the slices, and with
  // kInTail
  // their images.
  fetch = 132,
  // tail: pairs of offsets; none: all of the lease. a: if not 0, in ns: what is left of it is
  // leased for so long from here on. Answer: value how many.
  ack = 133,
  give_back = 134,     // the lease
  extend = 135,        // a: ns from now
  seek = 136,          // a: a ref::stream::Position::Kind, b: an offset
  resign = 137,        // the member
  close = 138,         // a: an ErrorCode, or 0; tail: why
  remove = 139,        // the topic
  remove_group = 140,  // the group
  describe = 141,  // Answer: a TopicFacts, its name, and for each group a GroupFacts and its name
  list = 142,      // a: how many at most. Answer: TopicFacts with their names
};
inline constexpr std::uint8_t kFirstStreamOp = 128;
inline constexpr std::uint8_t kStreamOpsEnd = 143;

struct StreamRequest {
  StreamOp op = StreamOp::open;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint32_t count = 0;
  std::uint64_t epoch = 0;   // of the process that asks
  std::uint64_t member = 0;  // of the process: which producer or consumer it is
  std::uint64_t topic = 0;
  std::uint64_t group = 0;
  std::uint64_t lease = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  static constexpr std::uint8_t kMaps = 1;  // of fetch: the asker can map this home's memory
};
static_assert(sizeof(StreamRequest) == 64);

struct TopicTerms {
  std::uint64_t max_bytes = 0;
  std::uint64_t replay_items = 0;
  std::uint64_t replay_bytes = 0;
  std::int64_t replay_ns = 0;
  std::uint32_t groups_awaited = 0;
  std::uint32_t given = 0;  // 0: somebody else says
};
static_assert(sizeof(TopicTerms) == 40);

struct GroupTerms {
  std::uint8_t start = 0;  // a ref::stream::Position::Kind
  std::uint8_t lasting = 0;
  std::uint8_t has_equals = 0;
  std::uint8_t reserved = 0;
  std::uint32_t one_in = 1;
  std::uint64_t offset = 0;
  std::uint32_t name_bytes = 0;  // the texts, one after another
  std::uint32_t prefix_bytes = 0;
  std::uint32_t equals_bytes = 0;
  std::uint32_t reserved_too = 0;
};
static_assert(sizeof(GroupTerms) == 32);

// Of a fetch: items one after another, of one batch.
struct StreamSlice {
  std::uint64_t first = 0;  // offset of the first
  std::uint32_t items = 0;
  std::uint32_t deliveries = 1;
  std::uint32_t index = 0;        // of the first one, in its batch
  std::uint32_t batch_items = 0;  // of the image
  std::uint64_t segment = 0;      // where the image lies; 0 in a tail
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // of the image; in a tail padded to 16
};
static_assert(sizeof(StreamSlice) == 48);

inline constexpr std::uint32_t kStreamEnded = 2;  // in ObjectAnswer::flags, beside kInTail

struct TopicFacts {
  std::uint64_t topic = 0;
  std::uint64_t oldest = 0;
  std::uint64_t end = 0;
  std::uint64_t appended_bytes = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t refused = 0;
  std::uint32_t producers = 0;
  std::uint32_t groups = 0;
  std::uint32_t error = 0;  // an ErrorCode, of one that has ended
  std::uint16_t name_bytes = 0;
  std::uint16_t ended = 0;
};
static_assert(sizeof(TopicFacts) == 64);

struct GroupFacts {
  std::uint64_t group = 0;
  std::uint64_t next = 0;
  std::uint64_t acked = 0;
  std::uint64_t lag = 0;
  std::uint64_t leased = 0;
  std::uint64_t delivered = 0;
  std::uint64_t redelivered = 0;
  std::uint64_t filtered = 0;
  std::uint32_t consumers = 0;
  std::uint32_t name_bytes = 0;
};
static_assert(sizeof(GroupFacts) == 72);

[[nodiscard]] inline bool is_stream_request(Bytes bytes) noexcept {
  return !bytes.empty() && std::to_integer<std::uint8_t>(bytes.front()) >= kFirstStreamOp;
}

struct StreamRequestView {
  StreamRequest head;
  Bytes tail;
};
// Errors: bad_format.
[[nodiscard]] Result<StreamRequestView> parse_stream_request(Bytes bytes);

// Takes a fixed part and texts off the front of a tail. Errors: bad_format.
class TailReader {
 public:
  explicit TailReader(Bytes tail) noexcept : rest_(tail) {}

  template <class T>
  [[nodiscard]] Result<T> take() {
    T value;
    if (const Status read = copy_to(std::as_writable_bytes(std::span(&value, 1))); !read) {
      return tl::unexpected(read.error());
    }
    return value;
  }
  [[nodiscard]] Result<std::string_view> take_text(std::size_t bytes);
  [[nodiscard]] Result<Bytes> take_bytes(std::size_t bytes);
  [[nodiscard]] Bytes rest() const noexcept { return rest_; }

 private:
  [[nodiscard]] Status copy_to(MutableBytes value);
  Bytes rest_;
};

// The slices of a fetch's answer, each with its image where those are in the tail. Errors:
// bad_format.
struct StreamSliceView {
  StreamSlice fixed;
  Bytes image{};
};
[[nodiscard]] Result<std::vector<StreamSliceView>> parse_slices(const ObjectAnswerView& answer);

}  // namespace godwit::wire
