// The kernel between two rounds: one block, whose warps take a bin each.
#include "forward/cuda/report.hpp"

namespace godwit::cuda {

using detail::ChunkId;
using detail::Count;
using detail::kNoChunk;
using detail::kNotYet;
using detail::Queue;
using detail::Queues;

namespace {

constexpr std::uint32_t kThreads = 1024;
constexpr std::uint32_t kWarp = 32;

// Puts the chunks of a bin that was read back among the free ones.
__device__ void free_chunks(const Queues& queues, std::uint32_t bin, std::uint32_t per_chunk,
                            Count* given) {
  const std::uint32_t lane = threadIdx.x % kWarp;
  Queue& queue = queues.reading(bin);
  ChunkId* const table = queues.read_table(bin);
  const Count chunks = (queue.items + per_chunk - 1) / per_chunk;
  const bool in_order =
      queues.keys != nullptr;  // then items lie in chunks that are nobody's to take
  for (Count base = 0; base < chunks; base += kWarp) {
    const Count at = base + lane;
    const bool mine = at < chunks;
    const ChunkId id = mine ? table[at] : 0;
    const bool spilled = mine && !in_order && id >= queues.device_count;
    const unsigned near = __ballot_sync(~0u, mine && !in_order && !spilled);
    const unsigned far = __ballot_sync(~0u, spilled);
    Count first_near = 0;
    Count first_far = 0;
    if (lane == 0) {
      if (near != 0) first_near = atomicAdd(given, static_cast<Count>(__popc(near)));
      if (far != 0) first_far = atomicAdd(given + 1, static_cast<Count>(__popc(far)));
    }
    first_near = __shfl_sync(~0u, first_near, 0);
    first_far = __shfl_sync(~0u, first_far, 0);
    if (!mine) continue;
    table[at] = kNotYet;
    if (in_order) continue;
    const unsigned below = (1u << lane) - 1;
    if (spilled) {
      const Count place = first_far + static_cast<Count>(__popc(far & below));
      queues.free_ids[queues.device_count + place % queues.host_count] = id;
    } else {
      const Count place = first_near + static_cast<Count>(__popc(near & below));
      queues.free_ids[place % queues.device_count] = id;
    }
  }
  __syncwarp();
  if (lane == 0) {
    queue.items = 0;
    queue.reserved = 0;
  }
}

// How many items a bin that was written has. Where the pool was empty the table has gaps: it closes
// up, since all chunks but the last are full.
__device__ Count seal(const Queues& queues, std::uint32_t bin, std::uint32_t per_chunk, bool gaps) {
  Queue& queue = queues.writing(bin);
  Count items = queue.reserved;
  if (gaps) {
    ChunkId* const table = queues.write_table(bin);
    const Count needed = (queue.reserved + per_chunk - 1) / per_chunk;
    const Count chunks = min(needed, Count{queues.table_length});
    Count kept = 0;
    items = 0;
    for (Count chunk = 0; chunk < chunks; ++chunk) {
      const ChunkId id = table[chunk];
      table[chunk] = kNotYet;
      if (id >= kNoChunk) continue;
      table[kept++] = id;
      items += min(Count{per_chunk}, queue.reserved - chunk * per_chunk);
    }
  }
  queue.items = items;
  return items;
}

__global__ void __launch_bounds__(kThreads)
    close_round_kernel(const __grid_constant__ Queues queues, const __grid_constant__ Kinds kinds,
                       std::uint64_t round, Report* report) {
  __shared__ Count given[2];
  __shared__ Count alive;
  if (threadIdx.x == 0) {
    given[0] = queues.free[0].given;
    given[1] = queues.free[1].given;
    alive = 0;
  }
  __syncthreads();
  const bool gaps = queues.free[0].taken > queues.free[0].given &&
                    (queues.host_count == 0 || queues.free[1].taken > queues.free[1].given);
  __syncthreads();
  for (std::uint32_t bin = threadIdx.x / kWarp; bin < queues.bins(); bin += kThreads / kWarp) {
    const std::uint32_t kind = bin / queues.ranks;
    free_chunks(queues, bin, kinds.per_chunk[kind], given);
    if (threadIdx.x % kWarp != 0) continue;
    const Count items = seal(queues, bin, kinds.per_chunk[kind], gaps);
    report->items[bin] = items;
    if (!kinds.reduced[kind]) atomicAdd(&alive, items);
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int from = 0; from < 2; ++from) {
    // Who found nothing had added all the same.
    const Count taken = min(queues.free[from].taken, queues.free[from].given);
    const Count all = from == 0 ? queues.device_count : queues.host_count;
    report->chunks_held[from] = all - (queues.free[from].given - taken);
    report->chunks_kept[from] = all - (given[from] - taken);
    queues.free[from].taken = taken;
    queues.free[from].given = given[from];
  }
  report->refusals = *queues.refusals;
  *queues.refusals = {};
  report->alive = alive;
  __threadfence_system();
  *reinterpret_cast<volatile std::uint64_t*>(&report->round) = round;
}

}  // namespace

cudaError_t close_round(const Queues& queues, const Kinds& kinds, std::uint64_t round,
                        Report* report, cudaStream_t stream) {
  close_round_kernel<<<1, kThreads, 0, stream>>>(queues, kinds, round, report);
  return cudaGetLastError();
}

}  // namespace godwit::cuda
