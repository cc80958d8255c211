// The queues of an exchange in a GPU's memory: what kernels of every rank on it see.
//
// A queue holds a round's items of one kind for one rank, in chunks of one pool that all queues
// share. Writers reserve a run of items by one atomic addition; who reserves a chunk's first item
// takes the chunk from the pool and writes it into the queue's table, where the others wait for it.
// There are two sets of queues: one is read while the other is written, and a round swaps them.
//
// Chunks beyond those of the GPU lie in pinned memory of the host. They are taken last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "godwit/kernel.hpp"

namespace godwit::cuda::detail {

// Larger ones are filled by fewer reservations that wait for a chunk; a queue wastes half of one.
// 1 MiB is up to a tenth faster than 256 KiB on an H200.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
inline constexpr std::uint32_t kMaxKinds = 8;
inline constexpr std::uint32_t kMaxRanks = 64;  // on one GPU

using ChunkId = std::uint32_t;
inline constexpr ChunkId kNotYet = 0xffffffff;   // in a table: its taker is about to say
inline constexpr ChunkId kNoChunk = 0xfffffffe;  // the pool was empty: items there were refused

using Count = unsigned long long;  // what atomicAdd takes for 64 bits

// Items of `size` bytes in one chunk.
GODWIT_KERNEL constexpr std::uint32_t items_per_chunk(std::size_t size) {
  return static_cast<std::uint32_t>(kChunkBytes / size / 256 * 256);
}

// Each on its own cache line: all blocks of a kernel add to it.
struct alignas(128) Queue {
  Count reserved;  // by writers; beyond the last chunk there may be some that found no room
  Count items;     // to read, set when the round ends
};

// Free chunks. Within a round they are only taken, so the order of additions is all there is to it.
struct alignas(128) FreeChunks {
  Count taken;  // grows beyond `given` when takers find nothing
  Count given;
};

// What went wrong in a round; the next report tells of it.
struct alignas(128) Refusals {
  Count full;
  Count bad_rank;
  Count stuck;  // waited in vain for a chunk: its taker is gone
  Count rank;   // one of the ranks that do not exist
};

// A trivially copyable view, passed to kernels by value.
struct Queues {
  Queue* queues = nullptr;    // [2][kinds][ranks]
  ChunkId* tables = nullptr;  // [2][kinds][ranks][table_length]
  std::byte* device_chunks = nullptr;
  std::byte* host_chunks = nullptr;
  FreeChunks* free = nullptr;   // [2]: the GPU's, the host's
  ChunkId* free_ids = nullptr;  // [device chunks], [host chunks]
  Refusals* refusals = nullptr;
  std::uint32_t device_count = 0;  // of chunks
  std::uint32_t host_count = 0;
  std::uint32_t table_length = 0;  // device_count + host_count: one queue may have them all
  std::uint32_t ranks = 0;
  std::uint32_t kinds = 0;
  std::uint32_t parity = 0;  // the set that is read; the other is written
  // Only if items are to be in order: each item's key, by chunk and place, and which of the
  // launches of a round this is.
  Count* keys = nullptr;
  std::uint32_t keys_per_chunk = 0;
  std::uint32_t launch = 0;

  [[nodiscard]] GODWIT_KERNEL std::uint32_t bins() const { return kinds * ranks; }
  [[nodiscard]] GODWIT_KERNEL Queue& reading(std::uint32_t bin) const {
    return queues[parity * bins() + bin];
  }
  [[nodiscard]] GODWIT_KERNEL Queue& writing(std::uint32_t bin) const {
    return queues[(parity ^ 1) * bins() + bin];
  }
  [[nodiscard]] GODWIT_KERNEL ChunkId* read_table(std::uint32_t bin) const {
    return tables + (std::size_t{parity} * bins() + bin) * table_length;
  }
  [[nodiscard]] GODWIT_KERNEL ChunkId* write_table(std::uint32_t bin) const {
    return tables + (std::size_t{parity ^ 1} * bins() + bin) * table_length;
  }
  [[nodiscard]] GODWIT_KERNEL std::byte* chunk(ChunkId id) const {
    return id < device_count || host_count == 0
               ? device_chunks + std::size_t{id} * kChunkBytes
               : host_chunks + std::size_t{id - device_count} * kChunkBytes;
  }
};

// Where an item belongs among those of its kind for its rank: by the rank that emitted it, the
// launch, and the item or index that it was emitted for. What was emitted for one comes from one
// thread, in the order in which it lies in the queue.
inline constexpr std::uint32_t kMaxLaunches = 1024;  // of a rank in a round
GODWIT_KERNEL constexpr Count key_of(Rank rank, std::uint32_t launch, std::uint32_t kind,
                                     Count index) {
  return static_cast<Count>(rank) << 58 | Count{launch} << 48 | Count{kind} << 45 | index;
}

// The ranks whose items a launch processes, and each one's functor.
struct Crew {
  const std::byte* functors = nullptr;  // functor_stride apart, in the order of `ranks`
  const std::uint32_t* ranks = nullptr;
  std::uint32_t count = 0;
  std::uint32_t functor_stride = 0;
};

#if defined(__CUDACC__)

// Nanoseconds a writer waits for a chunk's taker, which needs no more than a few atomic operations:
// beyond that, the process it ran in is gone.
inline constexpr std::uint64_t kTakerPatience_ns = 2'000'000'000;

__device__ inline std::uint64_t now_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline ChunkId take_chunk(const Queues& queues) {
  const Count mine = atomicAdd(&queues.free[0].taken, Count{1});
  if (mine < queues.free[0].given) return queues.free_ids[mine % queues.device_count];
  if (queues.host_count == 0) return kNoChunk;
  const Count spilled = atomicAdd(&queues.free[1].taken, Count{1});
  if (spilled >= queues.free[1].given) return kNoChunk;
  return queues.free_ids[queues.device_count + spilled % queues.host_count];
}

__device__ inline void provide_chunk(const Queues& queues, ChunkId* table, Count chunk) {
  if (chunk >= queues.table_length) return;
  *reinterpret_cast<volatile ChunkId*>(table + chunk) = take_chunk(queues);
}

// kNoChunk: there is none.
__device__ inline ChunkId await_chunk(const Queues& queues, const ChunkId* table, Count chunk) {
  if (chunk >= queues.table_length) return kNoChunk;
  const auto* const entry = reinterpret_cast<const volatile ChunkId*>(table + chunk);
  ChunkId id = *entry;
  if (id == kNotYet) {
    const std::uint64_t until = now_ns() + kTakerPatience_ns;
    do {
      __nanosleep(40);
      id = *entry;
    } while (id == kNotYet && now_ns() < until);
    if (id == kNotYet) atomicAdd(&queues.refusals->stuck, Count{1});
  }
  return id < kNoChunk ? id : kNoChunk;
}

// Where a run of items goes: it may begin in one chunk and end in the next.
struct Run {
  std::byte* first = nullptr;   // of the run's first item; null: no room
  std::byte* second = nullptr;  // of the first item in the next chunk
  std::uint32_t split = 0;      // items that lie in the first
};

// Reserves room for `count` items of `size` bytes, at most items_per_chunk(size).
template <std::size_t size>
__device__ inline Run reserve(const Queues& queues, std::uint32_t bin, std::uint32_t count) {
  constexpr std::uint32_t kPerChunk = items_per_chunk(size);
  const Count begin = atomicAdd(&queues.writing(bin).reserved, Count{count});
  const Count chunk = begin / kPerChunk;
  const auto offset = static_cast<std::uint32_t>(begin - chunk * kPerChunk);
  ChunkId* const table = queues.write_table(bin);
  const bool crosses = offset + count > kPerChunk;
  // What others wait for comes before what we wait for.
  if (offset == 0) provide_chunk(queues, table, chunk);
  if (crosses) provide_chunk(queues, table, chunk + 1);
  Run run;
  run.split = crosses ? kPerChunk - offset : count;
  const ChunkId first = await_chunk(queues, table, chunk);
  if (first != kNoChunk) run.first = queues.chunk(first) + std::size_t{offset} * size;
  if (crosses) {
    const ChunkId second = await_chunk(queues, table, chunk + 1);
    if (second != kNoChunk) run.second = queues.chunk(second);
  }
  return run;
}

#endif

}  // namespace godwit::cuda::detail
