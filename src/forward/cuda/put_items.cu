#include "forward/cuda/put_items.hpp"

#include "godwit/detail/forward/cuda/emit.cuh"

namespace godwit::cuda {

using detail::Count;
using detail::Queues;

namespace {

constexpr unsigned kThreads = 256;

// Every thread finds the place of one item; then the block copies all of them, word by word.
__global__ void __launch_bounds__(kThreads)
    put_items_kernel(const __grid_constant__ Queues queues, const __grid_constant__ PutItems put) {
  __shared__ std::byte* targets[kThreads];
  const std::uint32_t first = blockIdx.x * kThreads;
  const std::uint32_t mine = first + threadIdx.x;
  if (mine < put.count) {
    const std::uint32_t bin = put.kind * queues.ranks + put.to[mine];
    const detail::Place place = detail::claim_place(queues, bin, put.per_chunk);
    const bool has_room = place.chunk != detail::kNoChunk;
    targets[threadIdx.x] =
        has_room ? queues.chunk(place.chunk) + std::size_t{place.offset} * put.bytes : nullptr;
    if (has_room) {
      detail::note_key(queues, place, put.first_key + mine);
    } else {
      atomicAdd(put.refused, Count{1});
    }
  }
  __syncthreads();
  const std::uint32_t word = put.bytes % 4 == 0 ? 4 : 1;
  const std::uint32_t words = put.bytes / word;
  const std::uint32_t here = min(put.count - first, kThreads);
  for (std::uint32_t i = threadIdx.x; i < here * words; i += kThreads) {
    std::byte* const target = targets[i / words];
    if (target == nullptr) continue;
    const std::uint32_t offset = i % words * word;
    const std::byte* const source = put.items + std::size_t{first + i / words} * put.bytes + offset;
    if (word == 4) {
      *reinterpret_cast<std::uint32_t*>(target + offset) =
          *reinterpret_cast<const std::uint32_t*>(source);
    } else {
      target[offset] = *source;
    }
  }
}

}  // namespace

cudaError_t put_items(const Queues& queues, const PutItems& put, cudaStream_t stream) {
  put_items_kernel<<<(put.count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(queues, put);
  return cudaGetLastError();
}

}  // namespace godwit::cuda
