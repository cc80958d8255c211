// The unit in which items travel: a block of memory with items of one kind for one rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "godwit/kernel.hpp"

namespace godwit::detail {

class ChunkHome;

// The items lie behind the header, or elsewhere if they came from another process. A chunk is
// written by one thread until it is sealed, then read by the rank it was handed to, and then goes
// back to its home.
struct alignas(64) Chunk {
  Chunk* next = nullptr;       // in whichever list it lies
  ChunkHome* home = nullptr;   // takes it back
  std::byte* data = nullptr;   // the items
  std::uint64_t round = 0;     // in which it is processed
  std::uint64_t sequence = 0;  // among those of its source: with `source`, the order of items
  std::uint32_t capacity = 0;  // bytes for items
  std::uint32_t used = 0;      // of them
  std::uint32_t count = 0;     // items
  Rank source = 0;
  Rank destination = 0;
  std::uint16_t kind = 0;
  Priority priority = Priority::normal;
  // pooled: one of many of a size; counted: made for one large item; beyond: made although the pool
  // was at its limit; lent: its items lie in a GPU's memory.
  enum class Kept : std::uint8_t { pooled, counted, beyond, lent } kept = Kept::pooled;

  [[nodiscard]] std::byte* items() noexcept { return data; }
  [[nodiscard]] const std::byte* items() const noexcept { return data; }
};
static_assert(sizeof(Chunk) == 64 && alignof(Chunk) == 64);

// Where chunks of a pool go back to, from any thread.
class ChunkHome {
 public:
  virtual void give_back(Chunk* chunk) noexcept = 0;

 protected:
  ~ChunkHome() = default;
};

inline void give_back(Chunk* chunk) noexcept {
  chunk->home->give_back(chunk);
}

// Where the next item of one kind, priority and destination is written; null: no chunk yet.
struct Cursor {
  std::byte* at = nullptr;
  std::byte* end = nullptr;
  Chunk* chunk = nullptr;
};

}  // namespace godwit::detail
