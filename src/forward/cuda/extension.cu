#include "forward/cuda/extension.hpp"

namespace godwit::cuda {

using detail::ChunkId;
using detail::Count;
using detail::kNoChunk;
using detail::Queues;

namespace {

constexpr std::uint32_t kWarp = 32;

// A warp for each bin. Other processes' kernels may take chunks meanwhile.
__global__ void extend_kernel(const __grid_constant__ Queues queues, Extension* extensions,
                              ChunkId* ids) {
  Extension& extension = extensions[blockIdx.x];
  const std::uint32_t lane = threadIdx.x;
  const Count per_chunk = extension.per_chunk;
  detail::Queue& queue = queues.reading(extension.bin);
  ChunkId* const table = queues.read_table(extension.bin);
  const Count items = queue.items;
  const Count had = (items + per_chunk - 1) / per_chunk;
  const Count needed = (items + extension.wanted + per_chunk - 1) / per_chunk - had;
  const Count asked = min(needed, Count{extension.room});
  Count taken = 0;
  for (Count base = 0; base < asked; base += kWarp) {
    const ChunkId id = base + lane < asked ? detail::take_chunk(queues) : kNoChunk;
    const unsigned found = __ballot_sync(~0u, id != kNoChunk);
    if (id != kNoChunk) {
      table[had + taken + static_cast<Count>(__popc(found & ((1u << lane) - 1)))] = id;
    }
    taken += static_cast<Count>(__popc(found));
  }
  __syncwarp();
  const Count first = items / per_chunk;
  for (Count chunk = first + lane; chunk < had + taken; chunk += kWarp) {
    ids[extension.ids_at + (chunk - first)] = table[chunk];
  }
  if (lane != 0) return;
  const Count granted = min(Count{extension.wanted}, (had + taken) * per_chunk - items);
  queue.items = items + granted;
  extension.granted = granted;
}

constexpr unsigned kCopyThreads = 256;
constexpr unsigned kBlocksPerPiece = 8;

template <class Word>
__device__ void copy_words(const Piece& piece) {
  const auto* const from = reinterpret_cast<const Word*>(piece.from);
  auto* const to = reinterpret_cast<Word*>(piece.to);
  const std::size_t words = piece.bytes / sizeof(Word);
  const std::size_t step = std::size_t{gridDim.y} * blockDim.x;
#pragma unroll 4
  for (std::size_t i = std::size_t{blockIdx.y} * blockDim.x + threadIdx.x; i < words; i += step) {
    to[i] = from[i];
  }
}

__global__ void __launch_bounds__(kCopyThreads) copy_kernel(const Piece* pieces) {
  const Piece piece = pieces[blockIdx.x];
  const auto together = reinterpret_cast<std::uintptr_t>(piece.from) |
                        reinterpret_cast<std::uintptr_t>(piece.to) | piece.bytes;
  if (together % sizeof(uint4) == 0) {
    copy_words<uint4>(piece);
  } else if (together % sizeof(std::uint32_t) == 0) {
    copy_words<std::uint32_t>(piece);
  } else {
    copy_words<std::uint8_t>(piece);
  }
}

}  // namespace

cudaError_t extend(const Queues& queues, Extension* extensions, std::uint32_t count, ChunkId* ids,
                   cudaStream_t stream) {
  extend_kernel<<<count, kWarp, 0, stream>>>(queues, extensions, ids);
  return cudaGetLastError();
}

cudaError_t copy_pieces(const Piece* pieces, std::uint32_t count, cudaStream_t stream) {
  copy_kernel<<<dim3(count, kBlocksPerPiece), kCopyThreads, 0, stream>>>(pieces);
  return cudaGetLastError();
}

}  // namespace godwit::cuda
