// Chunk memory that other processes of this host read where it is.
#pragma once

#include <cstddef>
#include <memory>

#include "fabric/fd.hpp"
#include "fabric/memory/memfd.hpp"
#include "forward/chunk_pool.hpp"
#include "godwit/error.hpp"

namespace godwit::forward {

// Address space for all its bytes; memory as they are touched. Peers keep what they have mapped
// when the arena is gone.
class SharedArena final : public ChunkArena {
 public:
  [[nodiscard]] static Result<std::shared_ptr<SharedArena>> create(std::size_t bytes);

  std::byte* allocate(std::size_t bytes) noexcept override;
  [[nodiscard]] std::size_t size() const noexcept { return mapping_.size(); }
  // Where something lies in the arena; size() if it does not.
  [[nodiscard]] std::size_t offset_of(const std::byte* data) const noexcept;
  // A descriptor with which a peer maps it for reading.
  [[nodiscard]] Result<fabric::Fd> share() const { return fabric::duplicate_read_only(memory_); }

 private:
  SharedArena(fabric::Fd memory, fabric::Mapping mapping) noexcept
      : memory_(std::move(memory)), mapping_(std::move(mapping)) {}

  fabric::Fd memory_;
  fabric::Mapping mapping_;
  std::size_t used_ = 0;
};

// A peer's arena, to be read. protocol_violation: it is no memory of that size.
[[nodiscard]] Result<fabric::Mapping> map_arena(const fabric::Fd& memory, std::size_t bytes);

}  // namespace godwit::forward
