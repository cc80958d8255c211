#include "forward/cuda/sorter.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

using detail::ChunkId;
using detail::Count;
using detail::kNotYet;
using detail::Queues;

namespace {

constexpr unsigned kThreads = 256;

// Where the item at `index` of a bin lies.
struct Spot {
  ChunkId chunk;
  std::uint32_t offset;
};
__device__ Spot spot(const ChunkId* table, std::uint32_t per_chunk, std::uint64_t index) {
  return {.chunk = table[index / per_chunk],
          .offset = static_cast<std::uint32_t>(index % per_chunk)};
}

__global__ void collect_keys(const __grid_constant__ Queues queues, std::uint32_t bin,
                             std::uint32_t per_chunk, std::uint64_t items, std::uint64_t* keys,
                             std::uint32_t* places) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= items) return;
  const Spot from = spot(queues.read_table(bin), per_chunk, i);
  keys[i] = queues.keys[std::size_t{from.chunk} * queues.keys_per_chunk + from.offset];
  places[i] = static_cast<std::uint32_t>(i);
}

// Copies items, as words, to the chunks from `first` on.
__global__ void gather(const __grid_constant__ Queues queues, std::uint32_t bin,
                       std::uint32_t per_chunk, std::uint64_t items, const std::uint32_t* places,
                       ChunkId first, std::uint32_t bytes, std::uint32_t word) {
  const std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint32_t words = bytes / word;
  const std::uint64_t i = at / words;
  if (i >= items) return;
  const auto offset = static_cast<std::uint32_t>(at % words) * word;
  const Spot from = spot(queues.read_table(bin), per_chunk, places[i]);
  const std::byte* const source =
      queues.chunk(from.chunk) + std::size_t{from.offset} * bytes + offset;
  std::byte* const target =
      queues.chunk(first + static_cast<ChunkId>(i / per_chunk)) + i % per_chunk * bytes + offset;
  if (word == 4) {
    *reinterpret_cast<std::uint32_t*>(target) = *reinterpret_cast<const std::uint32_t*>(source);
  } else {
    *target = *source;
  }
}

// The chunks that items came in are free, those that they are in now are the bin's. One block.
__global__ void adopt(const __grid_constant__ Queues queues, std::uint32_t bin,
                      std::uint32_t chunks, ChunkId first) {
  ChunkId* const table = queues.read_table(bin);
  const Count given = queues.free[0].given;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < chunks; i += kThreads) {
    queues.free_ids[(given + i) % queues.device_count] = table[i];
    table[i] = first + i;
  }
  if (threadIdx.x == 0) queues.free[0].given = given + chunks;
}

unsigned blocks_for(std::uint64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

Result<std::unique_ptr<Sorter>> Sorter::create(const Queues& queues) {
  std::unique_ptr<Sorter> sorter(new Sorter);
  sorter->room_ = std::uint64_t{queues.device_count} * queues.keys_per_chunk;
  cub::DeviceRadixSort::SortPairs(
      nullptr, sorter->scratch_bytes_, static_cast<const std::uint64_t*>(nullptr),
      static_cast<std::uint64_t*>(nullptr), static_cast<const std::uint32_t*>(nullptr),
      static_cast<std::uint32_t*>(nullptr), sorter->room_);
  const std::uint64_t room = sorter->room_;
  if (Status taken = check_cuda(cudaMalloc(&sorter->memory_, 24 * room + sorter->scratch_bytes_),
                                "taking memory to sort items in");
      !taken) {
    return tl::unexpected(taken.error());
  }
  auto* const keys = static_cast<std::uint64_t*>(sorter->memory_);
  auto* const places = reinterpret_cast<std::uint32_t*>(keys + 2 * room);
  for (int i = 0; i < 2; ++i) {
    sorter->keys_[i] = keys + static_cast<std::uint64_t>(i) * room;
    sorter->places_[i] = places + static_cast<std::uint64_t>(i) * room;
  }
  sorter->scratch_ = places + 2 * room;
  return sorter;
}

Sorter::~Sorter() {
  cudaFree(memory_);
}

Status Sorter::sort(const Queues& queues, const Kinds& kinds, std::span<const std::uint64_t> items,
                    cudaStream_t stream) {
  ChunkId first = queues.device_count;  // behind those that are taken and freed
  for (std::uint32_t bin = 0; bin < items.size(); ++bin) {
    const std::uint64_t count = items[bin];
    if (count == 0) continue;
    const std::uint32_t kind = bin / queues.ranks;
    const std::uint32_t per_chunk = kinds.per_chunk[kind];
    const std::uint32_t bytes = kinds.bytes[kind];
    const std::uint32_t word = bytes % 4 == 0 ? 4 : 1;
    const auto chunks = static_cast<std::uint32_t>((count + per_chunk - 1) / per_chunk);
    collect_keys<<<blocks_for(count), kThreads, 0, stream>>>(queues, bin, per_chunk, count,
                                                             keys_[0], places_[0]);
    // Stable: what one thread emitted stays in its order.
    std::size_t scratch_bytes = scratch_bytes_;
    cub::DeviceRadixSort::SortPairs(scratch_, scratch_bytes, keys_[0], keys_[1], places_[0],
                                    places_[1], count, 0, 64, stream);
    gather<<<blocks_for(count * (bytes / word)), kThreads, 0, stream>>>(
        queues, bin, per_chunk, count, places_[1], first, bytes, word);
    adopt<<<1, kThreads, 0, stream>>>(queues, bin, chunks, first);
    first += chunks;
    if (Status sorted = check_cuda(cudaGetLastError(), "sorting items"); !sorted) return sorted;
  }
  return {};
}

}  // namespace godwit::cuda
