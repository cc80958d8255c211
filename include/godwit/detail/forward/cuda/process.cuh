// The kernels that run a user's functor: over incoming items, over indices, over items to fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "godwit/detail/forward/cuda/emit.cuh"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/detail/forward/cuda/stage.cuh"
#include "godwit/detail/forward/cuda/words.cuh"

namespace godwit::cuda::detail {

// A run of incoming items that a block processes at once. It lies in one chunk.
struct Tile {
  const std::byte* items = nullptr;
  std::uint32_t count = 0;
  std::uint32_t kind = 0;
  std::uint32_t member = 0;  // of the crew
  Count first = 0;           // index of its first item among those of the rank and kind
};

// Walks over the incoming items of a crew in tiles; each block takes every gridDim.x-th.
template <class... Items>
class Tiles {
 public:
  static constexpr std::uint32_t kThreads = BlockShape<Items...>::kThreads;

  // `ends` has room for kinds * crew members. Ready after the next __syncthreads().
  __device__ Tiles(const Queues& queues, const Crew& crew, std::uint32_t* ends)
      : queues_(queues), crew_(crew), ends_(ends) {
    if (threadIdx.x != 0) return;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < lists(); ++i) {
      const Count items = is_reduced(kind_at(i)) ? 0 : queues_.reading(bin_at(i)).items;
      sum += static_cast<std::uint32_t>((items + kThreads - 1) / kThreads);
      ends_[i] = sum;
    }
  }

  // The block's tile of this number; false: there are no more. Numbers must not fall.
  __device__ bool find(std::uint32_t number, Tile& tile) {
    while (list_ < lists() && number >= ends_[list_]) ++list_;
    if (list_ == lists()) return false;
    const std::uint32_t of_list = number - (list_ == 0 ? 0 : ends_[list_ - 1]);
    const std::uint32_t bin = bin_at(list_);
    tile.kind = kind_at(list_);
    tile.member = list_ % crew_.count;
    std::uint32_t kind = 0;
    ((kind++ == tile.kind ? locate<sizeof(typename ItemTraits<Items>::Value)>(bin, of_list, tile)
                          : void()),
     ...);
    return true;
  }

 private:
  [[nodiscard]] __device__ std::uint32_t lists() const { return queues_.kinds * crew_.count; }
  [[nodiscard]] __device__ std::uint32_t kind_at(std::uint32_t list) const {
    return list / crew_.count;
  }
  [[nodiscard]] __device__ std::uint32_t bin_at(std::uint32_t list) const {
    return kind_at(list) * queues_.ranks + crew_.ranks[list % crew_.count];
  }
  [[nodiscard]] __device__ static bool is_reduced(std::uint32_t of) {
    constexpr bool kReduced[] = {(ItemTraits<Items>::kForm == ItemForm::reduced)...};
    bool reduced = false;
    for (std::uint32_t kind = 0; kind < sizeof...(Items); ++kind) {
      if (kind == of) reduced = kReduced[kind];
    }
    return reduced;
  }
  template <std::size_t size>
  __device__ void locate(std::uint32_t bin, std::uint32_t of_list, Tile& tile) const {
    constexpr std::uint32_t kPerChunk = items_per_chunk(size) / kThreads;  // tiles
    static_assert(items_per_chunk(size) % kThreads == 0);
    tile.first = Count{of_list} * kThreads;
    const Count left = queues_.reading(bin).items - tile.first;
    tile.count = left < kThreads ? static_cast<std::uint32_t>(left) : kThreads;
    tile.items = queues_.chunk(queues_.read_table(bin)[of_list / kPerChunk]) +
                 std::size_t{of_list % kPerChunk} * kThreads * size;
  }

  const Queues& queues_;
  const Crew& crew_;
  std::uint32_t* ends_;
  std::uint32_t list_ = 0;
};

// This thread's item of a tile, on its way from memory while the block writes the last tile's: held
// in registers if there is one kind and it is small, else read when it is processed.
template <class... Items>
class HeldItem {
 public:
  __device__ void fetch(const Tile&) {}
  template <class Functor, class Out>
  __device__ void process(const Tile& tile, const Functor& functor, Out& out) const {
    std::uint32_t kind = 0;
    (process_if<Items>(kind++, tile, functor, out), ...);
  }

 private:
  template <class Item, class Functor, class Out>
  __device__ static void process_if(std::uint32_t kind, const Tile& tile, const Functor& functor,
                                    Out& out) {
    if constexpr (ItemTraits<Item>::kForm == ItemForm::plain) {
      using T = typename ItemTraits<Item>::Value;
      if (tile.kind == kind) functor(load_item<T>(tile.items + threadIdx.x * sizeof(T)), out);
    }
  }
};
template <class T>
  requires(ItemTraits<T>::kForm == ItemForm::plain && sizeof(T) <= 128)
class HeldItem<T> {
 public:
  __device__ void fetch(const Tile& tile) {
    if (threadIdx.x < tile.count) {
      words_ = load_item<Words<sizeof(T)>>(tile.items + threadIdx.x * sizeof(T));
    }
  }
  template <class Functor, class Out>
  __device__ void process(const Tile&, const Functor& functor, Out& out) const {
    functor(__builtin_bit_cast(T, words_), out);
  }

 private:
  Words<sizeof(T)> words_;
};

// functor(item, out) for every incoming item of the crew's ranks.
template <class Functor, class... Items>
__global__ void __launch_bounds__(BlockShape<Items...>::kThreads)
    process_items(const __grid_constant__ Queues queues, const __grid_constant__ Crew crew) {
  extern __shared__ __align__(16) std::byte shared[];
  Stage<Items...> stage(queues, shared);
  Tiles<Items...> tiles(queues, crew, stage.spare());
  __syncthreads();
  Tile tile;
  HeldItem<Items...> item;
  std::uint32_t number = blockIdx.x;
  bool more = tiles.find(number, tile);
  if (more) item.fetch(tile);
  while (more) {
    if (threadIdx.x < tile.count) {
      const auto& functor =
          *reinterpret_cast<const Functor*>(crew.functors + tile.member * crew.functor_stride);
      StagedEmitter<Items...> out(queues, stage, static_cast<Rank>(crew.ranks[tile.member]),
                                  tile.kind, tile.first + threadIdx.x);
      item.process(tile, functor, out);
    }
    __syncthreads();
    number += gridDim.x;
    more = tiles.find(number, tile);
    if (more) item.fetch(tile);
    stage.flush(!more);
  }
}

// functor(index, out) for every index below `count`, as one rank.
template <class Functor, class... Items>
__global__ void __launch_bounds__(BlockShape<Items...>::kThreads)
    process_indices(const __grid_constant__ Queues queues, const __grid_constant__ Functor functor,
                    Rank rank, std::uint64_t count) {
  extern __shared__ __align__(16) std::byte shared[];
  Stage<Items...> stage(queues, shared);
  __syncthreads();
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * blockDim.x; base < count; base += step) {
    if (base + threadIdx.x < count) {
      StagedEmitter<Items...> out(queues, stage, rank, 0, base + threadIdx.x);
      functor(base + threadIdx.x, out);
    }
    __syncthreads();
    stage.flush(base + step >= count);
  }
}

// fold(item) for every incoming item of one kind of one rank.
template <class T, class Fold>
__global__ void fold_items(const __grid_constant__ Queues queues, const __grid_constant__ Fold fold,
                           std::uint32_t bin) {
  constexpr std::uint32_t kPerChunk = items_per_chunk(sizeof(T));
  const Count count = queues.reading(bin).items;
  const ChunkId* const table = queues.read_table(bin);
  const Count step = Count{gridDim.x} * blockDim.x;
  for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    fold(load_item<T>(queues.chunk(table[i / kPerChunk]) + i % kPerChunk * sizeof(T)));
  }
}

}  // namespace godwit::cuda::detail
