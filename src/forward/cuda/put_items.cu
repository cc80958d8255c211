#include "forward/cuda/put_items.hpp"

#include "godwit/detail/forward/cuda/emit.cuh"

namespace godwit::cuda {

using detail::Count;
using detail::Queues;

namespace {

constexpr unsigned kThreads = 256;

// Where an item goes; nullptr if it is refused.
__device__ std::byte* place_for(const Queues& queues, const PutItems& put, std::uint32_t item) {
  const std::uint32_t to = put.to[item];
  if (to >= queues.ranks) {
    detail::note_refusal(queues, Emitted::bad_rank, static_cast<Rank>(to));
    return nullptr;
  }
  const detail::Place place =
      detail::claim_place(queues, put.kind * queues.ranks + to, put.per_chunk);
  if (place.chunk != detail::kNoChunk) {
    detail::note_key(queues, place, put.first_key + item);
    return queues.chunk(place.chunk) + std::size_t{place.offset} * put.bytes;
  }
  if (put.refused != nullptr) {
    atomicAdd(put.refused, Count{1});
  } else {
    detail::note_refusal(queues, Emitted::full, 0);
  }
  return nullptr;
}

// Every thread finds the place of one item; then the block copies all of them, word by word.
__global__ void __launch_bounds__(kThreads)
    put_items_kernel(const __grid_constant__ Queues queues, const __grid_constant__ PutItems put) {
  __shared__ std::byte* targets[kThreads];
  const std::uint32_t first = blockIdx.x * kThreads;
  const std::uint32_t mine = first + threadIdx.x;
  if (mine < put.count) targets[threadIdx.x] = place_for(queues, put, mine);
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
