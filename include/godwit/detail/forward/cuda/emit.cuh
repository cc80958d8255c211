// How one thread hands an item to a rank: straight into the rank's queue.
#pragma once

#include <cstddef>
#include <cstdint>

#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/detail/forward/cuda/words.cuh"
#include "godwit/items.hpp"

namespace godwit::cuda::detail {

using godwit::detail::ItemForm;
using godwit::detail::ItemTraits;

template <class T, class... Items>
GODWIT_KERNEL constexpr std::uint32_t checked_kind() {
  constexpr std::uint32_t kind = godwit::detail::kind_of<T, Items...>();
  static_assert(kind < sizeof...(Items), "godwit: no such item type in this Exchange");
  return kind;
}

__device__ inline unsigned lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
__device__ inline unsigned lanes_below(unsigned lane) {
  return (1u << lane) - 1;
}

// Counts an item that was lost to its emitter.
__device__ inline void note_refusal(const Queues& queues, Emitted why, Rank to) {
  if (why == Emitted::bad_rank) {
    atomicAdd(&queues.refusals->bad_rank, Count{1});
    atomicExch(&queues.refusals->rank, static_cast<Count>(static_cast<std::int64_t>(to)));
  } else {
    atomicAdd(&queues.refusals->full, Count{1});
  }
}

// Room for one item.
struct Place {
  ChunkId chunk = kNoChunk;  // kNoChunk: there is none
  std::uint32_t offset = 0;  // in items
};

// The threads of a warp that emit into one bin at the same time reserve together.
__device__ inline Place claim_place(const Queues& queues, std::uint32_t bin,
                                    std::uint32_t per_chunk) {
  const unsigned peers = __match_any_sync(__activemask(), bin);
  const unsigned lane = lane_id();
  const int leader = __ffs(static_cast<int>(peers)) - 1;
  Count begin = 0;
  if (lane == static_cast<unsigned>(leader)) {
    begin = atomicAdd(&queues.writing(bin).reserved, static_cast<Count>(__popc(peers)));
  }
  begin = __shfl_sync(peers, begin, leader);
  const Count index = begin + static_cast<Count>(__popc(peers & lanes_below(lane)));
  const Count chunk = index / per_chunk;
  const auto offset = static_cast<std::uint32_t>(index - chunk * per_chunk);
  ChunkId* const table = queues.write_table(bin);
  if (offset == 0) provide_chunk(queues, table, chunk);
  __syncwarp(peers);  // what the others wait for is there before anybody waits
  return {.chunk = await_chunk(queues, table, chunk), .offset = offset};
}

// Only if items are to be in order.
__device__ inline void note_key(const Queues& queues, const Place& place, Count key) {
  if (queues.keys == nullptr) return;
  queues.keys[std::size_t{place.chunk} * queues.keys_per_chunk + place.offset] = key;
}

// `to` is a rank; `key` matters only if items are to be in order.
template <class T>
__device__ inline Emitted emit_directly(const Queues& queues, const T& item, std::uint32_t kind,
                                        Rank to, Count key) {
  const std::uint32_t bin = kind * queues.ranks + static_cast<std::uint32_t>(to);
  const Place place = claim_place(queues, bin, items_per_chunk(sizeof(T)));
  if (place.chunk == kNoChunk) return Emitted::full;
  store_item(queues.chunk(place.chunk) + std::size_t{place.offset} * sizeof(T), item);
  note_key(queues, place, key);
  return Emitted::ok;
}

}  // namespace godwit::cuda::detail
