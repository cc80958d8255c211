// Items for any ranks, as a kernel emits them, from one run of memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "godwit/detail/forward/cuda/queues.cuh"

namespace godwit::cuda {

// Of one kind, in memory of the GPU.
struct PutItems {
  const std::byte* items = nullptr;
  const std::uint32_t* to = nullptr;  // a rank for each
  std::uint32_t count = 0;
  std::uint32_t kind = 0;
  std::uint32_t bytes = 0;  // of an item
  std::uint32_t per_chunk = 0;
  detail::Count first_key = 0;       // later items have later ones; only if they are to be in order
  detail::Count* refused = nullptr;  // counts those that find no room, if not the round
};

// Launches, and does not wait.
cudaError_t put_items(const detail::Queues& queues, const PutItems& put, cudaStream_t stream);

}  // namespace godwit::cuda
