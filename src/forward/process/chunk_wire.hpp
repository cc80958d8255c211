// How a chunk travels between processes: a fixed struct, then the items, unless the receiver can
// read them where they are. Pure functions; nothing here is trusted before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"
#include "godwit/items.hpp"
#include "wire/header.hpp"

namespace godwit::forward {

// What members of a group send each other, over links of their own: Header::kind. wire/header.hpp
// says that these are taken.
enum class RankMessage : std::uint8_t {
  chunk = 48,       // body: ChunkWire, items
  credit = 49,      // body: tickets, 32 bits each
  arena = 50,       // id: exchange    subject: bytes; with a descriptor
  arena_seen = 51,  // id: exchange; items of the receiver's arena need not be sent
  leave = 52,       // id: exchanges that the sender took part in
  welcome = 53,     // the sender knows all ranks
};
[[nodiscard]] constexpr wire::Kind kind_of(RankMessage message) noexcept {
  return static_cast<wire::Kind>(message);
}

struct ChunkWire {
  static constexpr std::uint64_t kFollows = ~std::uint64_t{0};
  static constexpr std::uint32_t kNoTicket = ~std::uint32_t{0};

  std::uint64_t exchange = 0;  // of the group's, from 0
  std::uint64_t round = 0;
  std::uint64_t sequence = 0;
  std::uint64_t items_at = kFollows;  // in the sender's shared memory; or they follow
  std::uint32_t used = 0;             // bytes of items
  std::uint32_t count = 0;
  std::uint32_t ticket = kNoTicket;  // sent back when the chunk is done with
  std::uint16_t kind = 0;
  std::uint8_t priority = 0;
  std::uint8_t reserved[17] = {};
};
static_assert(sizeof(ChunkWire) == 64);

[[nodiscard]] ChunkWire describe(const detail::Chunk& chunk, std::uint64_t exchange) noexcept;

// The struct that begins `body`. protocol_violation: what it says cannot be, whatever the items.
// `shared_bytes` is how much of the sender's memory the receiver can read.
[[nodiscard]] Result<ChunkWire> read_chunk(Bytes body, std::size_t shared_bytes);
// The exchange a message belongs to, whatever else is wrong with it.
[[nodiscard]] Result<ChunkWire> peek_chunk(Bytes body);

// Whether these bytes are `wire.count` items of its kind, or a control message.
[[nodiscard]] Status check_items(const ChunkWire& wire, Bytes items,
                                 std::span<const detail::ItemType> types);

}  // namespace godwit::forward
