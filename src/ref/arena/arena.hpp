// The memory of a node's objects: segments that processes of the same host map too.
//
// Touching fresh pages costs several times what copying into them does, so memory is touched once,
// when a segment is made, and used again. Small objects share segments (slabs), in size classes;
// one beyond kLargestShared gets a segment of its own. Segments keep their ids for as long as they
// live, so that peers map each of them once, however many objects come and go in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "godwit/error.hpp"

namespace godwit::ref {

// A piece of a segment; a plain value, freed by Arena::free().
struct Extent {
  std::uint64_t segment = 0;  // not 0; never used again, also by later lives of the node
  std::uint64_t offset = 0;   // in the segment's memory; a multiple of 64
  std::size_t capacity = 0;   // bytes that may be used, at least what was asked for
  std::byte* data = nullptr;  // where this process has it mapped

  [[nodiscard]] explicit operator bool() const noexcept { return segment != 0; }
};

// Any thread.
class Arena {
 public:
  static constexpr std::size_t kLargestShared = std::size_t{512} << 10;

  struct Options {
    std::size_t budget_bytes = 0;  // of all segments together
    // Of a slab, at most: the first ones are smaller, and each doubles what there is.
    std::size_t slab_bytes = std::size_t{16} << 20;
    // Of empty segments that are kept for the next object, instead of going back to the system.
    std::size_t keep_bytes = std::size_t{512} << 20;
  };
  struct Use {
    std::size_t used_bytes = 0;  // in extents that have not been freed
    std::size_t held_bytes = 0;  // in segments
    std::size_t extents = 0;
    std::size_t segments = 0;
  };
  enum class Wait : std::uint8_t { no, yes };

  explicit Arena(Options options);
  // Every extent is gone by then, or is never looked at again.
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Memory with anything in it. Making a segment takes milliseconds, about one for each MB: with
  // Wait::no that is would_block instead. Where the budget leaves no room for a segment, kept ones
  // go first. Errors: would_block, resource_exhausted (wanted, used, budget).
  [[nodiscard]] Result<Extent> allocate(std::size_t bytes, Wait wait);
  // Giving back what is kept beyond keep_bytes takes milliseconds: with Wait::no it stays until a
  // later call that may wait, such as trim().
  void free(const Extent& extent, Wait wait = Wait::yes) noexcept;
  // Gives memory kept in empty segments back to the system, all of it or down to `keep_bytes`.
  // Takes milliseconds.
  void trim(std::size_t keep_bytes);

  struct Shared {
    fabric::Fd memory;
    std::size_t size = 0;  // of the segment's memory
  };
  // A descriptor for a peer to map. Errors: not_found, resource_exhausted.
  [[nodiscard]] Result<Shared> share(std::uint64_t segment, fabric::Access access) const;

  [[nodiscard]] Use use() const;
  [[nodiscard]] std::size_t budget_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::ref
