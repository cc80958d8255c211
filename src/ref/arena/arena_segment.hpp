// One segment of an Arena: touched memory, and which parts of it are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/list.hpp"
#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"
#include "ref/arena/slots.hpp"

namespace godwit::ref {

// Shared memory whose pages are all there: using it neither faults nor fails. Gone with its owner,
// even while peers have it mapped; they read zeros then.
class TouchedMemory {
 public:
  // About a millisecond per MB. A multiple of the page size. Errors: resource_exhausted.
  [[nodiscard]] static Result<TouchedMemory> create(std::size_t bytes);
  TouchedMemory(TouchedMemory&&) noexcept = default;
  TouchedMemory& operator=(TouchedMemory&&) = delete;
  // About a millisecond per 4 MB.
  ~TouchedMemory();

  [[nodiscard]] std::byte* data() const noexcept { return mapping_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
  [[nodiscard]] const fabric::Fd& descriptor() const noexcept { return memory_; }

 private:
  TouchedMemory(fabric::Fd memory, fabric::Mapping mapping) noexcept
      : memory_(std::move(memory)), mapping_(std::move(mapping)) {}

  fabric::Fd memory_;
  fabric::Mapping mapping_;
};

struct ArenaSegment;

// A part of a slab that serves one size class at a time. On the list of its class while it serves
// one and has a free slot.
struct Chunk : ListHook<struct RoomyTag> {
  Chunk(ArenaSegment& its_segment, std::size_t its_offset, std::size_t most_slots)
      : segment(its_segment), offset(its_offset), slots(most_slots) {}

  ArenaSegment& segment;
  std::size_t offset;
  std::size_t size_class = 0;
  std::uint32_t slot_bytes = 0;  // 0: serves none
  Slots slots;
};

// A slab, if it has chunks; else the memory of one object. On the lists of what is kept while
// nothing of it is in use.
struct ArenaSegment : ListHook<struct PartlyTag>, ListHook<struct AgeTag>, ListHook<struct FitTag> {
  // `chunk_bytes` of 0: for one object.
  ArenaSegment(std::uint64_t its_id, TouchedMemory its_memory, std::size_t chunk_bytes);

  [[nodiscard]] bool is_slab() const noexcept { return !chunks.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return memory.size(); }
  [[nodiscard]] bool kept() const noexcept { return ListHook<AgeTag>::linked(); }

  std::uint64_t id;
  TouchedMemory memory;
  std::deque<Chunk> chunks;
  std::vector<Chunk*> free_chunks;
};

}  // namespace godwit::ref
