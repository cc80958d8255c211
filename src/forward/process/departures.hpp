// The chunks that one rank has sent to another and that are not back yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "forward/process/chunk_wire.hpp"
#include "godwit/detail/forward/chunk.hpp"

namespace godwit::forward {

// A chunk goes home when the transport has let go of it and the receiver has sent its ticket back.
// Used by the reactor's owner.
class Departures {
 public:
  struct Entry {
    detail::Chunk* chunk = nullptr;
    ChunkWire wire;
    bool borrowed = false;  // by the transport
    bool owed = false;      // by the receiver
  };

  Departures() = default;
  Departures(const Departures&) = delete;
  Departures& operator=(const Departures&) = delete;
  ~Departures() { give_all_back(); }

  // Entries stay where they are.
  [[nodiscard]] std::uint32_t add(detail::Chunk* chunk, const ChunkWire& wire);
  [[nodiscard]] Entry& operator[](std::uint32_t ticket) { return entries_[ticket]; }
  // The transport has let go of it.
  void sent(std::uint32_t ticket);
  // False: no such ticket was out.
  [[nodiscard]] bool returned(std::uint32_t ticket);
  // Gives it back if nobody needs it any more.
  void settle(std::uint32_t ticket);
  void give_all_back() noexcept;
  // How many the transport has yet to let go of.
  [[nodiscard]] std::size_t under_way() const noexcept;

 private:
  std::deque<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace godwit::forward
