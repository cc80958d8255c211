// The fixed header in front of every message on every transport.
//
// All integers are little-endian (we refuse to build on a big-endian machine). What the three
// free fields mean depends on the kind; docs/protocol.md is the specification.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace godwit::wire {

static_assert(std::endian::native == std::endian::little, "the wire is memory: little-endian only");

enum class Kind : std::uint8_t {
  none = 0,
  // Calls (handled by call/).
  call = 1,       // id: caller's call id    subject: function token   aux: deadline_ms
  reply = 2,      // id: caller's call id    subject: function token   aux: outcome word
  cancel = 3,     // id: caller's call id
  need_code = 4,  // body: wire::NeedCode
  code = 5,       // body: wire::Code
  hop_moved = 6,  // id: sender's call id; the hop ended or went on; body: the next node's id
  hop_ended = 7,  // id: intake's call id    aux: outcome word; body as in reply
  have_code = 8,  // body: a bundle's id; ask for it if you lack it
  // Fleet membership (handled by fleet/).
  table = 16,  // body: wire::TableBody
  // What a process says of itself (asked by node/, answered by call/).
  ask_status = 24,  // id: the asker's
  status = 25,      // id: the asker's; body: JSON
  // Mappings of shards (handled by region/).
  ask_region = 40,  // id: the asker's    subject: the region's    aux: the shard's number
  region = 41,      // id: the asker's    aux: 0, or an ErrorCode; body: wire::RegionGrant, or why
  // Memory of objects (handled by ref/).
  ask_segment = 42,  // id: the asker's    subject: the segment's    aux: 1 to write to it
  segment = 43,      // id: the asker's    aux: 0, or an ErrorCode; body: wire::SegmentGrant, or why
  // Anything a link needs for itself. (48 to 53 are taken: forward/process/chunk_wire.hpp.)
  ping = 32,
  pong = 33,
  // Nothing new will be started on this link by its sender, who waits for nothing on it either.
  bye = 34,  // id: messages sent so far    subject: messages received; byes do not count
};

struct Header {
  Kind kind = Kind::none;
  std::uint8_t flags = 0;
  // Bytes of extension between the header and the body proper; a multiple of 16.
  std::uint16_t extension_size = 0;
  std::uint32_t aux = 0;
  std::uint64_t id = 0;
  std::uint64_t subject = 0;
  // The link's token, set and checked by transports whose messages do not arrive on a private
  // channel (ucx). Others leave it zero.
  std::uint64_t link_token = 0;
};
static_assert(sizeof(Header) == 32 && std::is_trivially_copyable_v<Header>);
static_assert(offsetof(Header, aux) == 4 && offsetof(Header, id) == 8 &&
              offsetof(Header, subject) == 16 && offsetof(Header, link_token) == 24);

}  // namespace godwit::wire
