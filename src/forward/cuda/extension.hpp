// Room at the end of queues that are read, for items that come from outside, and how they get there
// from another GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "godwit/detail/forward/cuda/queues.cuh"

namespace godwit::cuda {

// For one bin. Lies in memory that the host and the GPU see.
struct Extension {
  std::uint32_t bin = 0;
  std::uint32_t per_chunk = 0;  // items
  std::uint32_t room = 0;       // chunks it may take
  std::uint32_t ids_at = 0;     // where its chunks are to be told: room + 1 of them
  std::uint64_t wanted = 0;     // items
  std::uint64_t granted = 0;    // of them; filled in
};

// Makes the bins longer by what they are granted. `ids` tells their chunks, from the one on that
// the first new item belongs into.
cudaError_t extend(const detail::Queues& queues, Extension* extensions, std::uint32_t count,
                   detail::ChunkId* ids, cudaStream_t stream);

struct Piece {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

// Copies pieces of at most a chunk by one kernel, which can read where they are. They lie in memory
// that the GPU sees.
cudaError_t copy_pieces(const Piece* pieces, std::uint32_t count, cudaStream_t stream);

}  // namespace godwit::cuda
