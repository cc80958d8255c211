// A block's emitted items on their way: they gather in shared memory and leave together, sorted by
// bin (kind and rank), so that a bin costs one reservation and is written in whole lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "godwit/detail/forward/cuda/emit.cuh"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/detail/forward/cuda/words.cuh"
#include "godwit/items.hpp"

namespace godwit::cuda::detail {

// How blocks are cut for items of these kinds; measured on an H200.
template <class... Items>
struct BlockShape {
  static constexpr std::size_t kLargest = std::max({sizeof(typename ItemTraits<Items>::Value)...});
  static constexpr std::size_t kSlotBytes =
      std::max({std::size_t{Words<sizeof(typename ItemTraits<Items>::Value)>::kStride} *
                sizeof(typename Words<sizeof(typename ItemTraits<Items>::Value)>::Word)...});
  static constexpr std::uint32_t kThreads = kLargest <= 32 || kLargest > 64 ? 128 : 256;
  // Items that wait in shared memory. More make longer runs, fewer leave room for more blocks.
  static constexpr std::uint32_t kSlots = kLargest <= 24     ? 512
                                          : kLargest <= 32   ? 384
                                          : kLargest <= 64   ? 512
                                          : kLargest <= 256  ? 128
                                          : kLargest <= 1024 ? 32
                                                             : 8;
  // Room for slots of mixed kinds: each at its kind's alignment.
  static constexpr std::size_t kStride = (kSlotBytes + 15) / 16 * 16;
  static constexpr std::size_t kSlotStride = sizeof...(Items) == 1 ? kSlotBytes : kStride;
};

// Where everything lies in a block's dynamic shared memory.
template <class Shape>
struct StageLayout {
  static constexpr std::size_t up(std::size_t at) { return (at + 15) / 16 * 16; }
  static constexpr std::size_t kTargets = up(Shape::kSlots * Shape::kSlotStride);
  static constexpr std::size_t kOrder = kTargets + Shape::kSlots * sizeof(std::byte*);
  static constexpr std::size_t kBins = kOrder + Shape::kSlots * sizeof(std::uint16_t);
  static constexpr std::size_t kPlaces = kBins + Shape::kSlots * sizeof(std::uint16_t);
  static constexpr std::size_t kFill = up(kPlaces + Shape::kSlots * sizeof(std::uint16_t));
  static constexpr std::size_t kRuns = kFill + 16;
  static constexpr std::size_t bytes(std::size_t bins) {
    return kRuns + bins * (sizeof(Run) + 3 * sizeof(std::uint32_t));
  }
};

template <class... Items>
class Stage {
 public:
  using Shape = BlockShape<Items...>;
  using Layout = StageLayout<Shape>;

  // By all threads of the block; it is ready after the next __syncthreads().
  __device__ Stage(const Queues& queues, std::byte* shared) : queues_(queues), shared_(shared) {
    const std::uint32_t bins = queues.bins();
    runs_ = reinterpret_cast<Run*>(shared + Layout::kRuns);
    counts_ = reinterpret_cast<std::uint32_t*>(runs_ + bins);
    starts_ = counts_ + bins;
    clear();
  }
  // Words of shared memory for the user of the stage, one for each bin.
  [[nodiscard]] __device__ std::uint32_t* spare() const { return starts_ + queues_.bins(); }

  // Takes an item if there is a slot for it. Where items are to be in order none is taken: they
  // would overtake those that found no slot.
  template <class T>
  __device__ bool put(const T& item, std::uint32_t bin) {
    if (queues_.keys != nullptr) return false;
    const std::uint32_t slot = next_slot();
    if (slot >= Shape::kSlots) return false;
    store_item(slot_at(slot), item);
    at<std::uint16_t>(Layout::kBins)[slot] = static_cast<std::uint16_t>(bin);
    at<std::uint16_t>(Layout::kPlaces)[slot] =
        static_cast<std::uint16_t>(atomicAdd(counts_ + bin, 1u));
    return true;
  }

  // By all threads, after a __syncthreads() that ends the puts: writes the items to their queues if
  // the next tile's might not fit, or if it is the last chance. Ends with a __syncthreads().
  __device__ void flush(bool last) {
    const std::uint32_t filled = min(*fill(), Shape::kSlots);
    if (filled + Shape::kThreads <= Shape::kSlots && !last) {
      __syncthreads();  // all have read the fill before anybody puts
      return;
    }
    if (threadIdx.x < kWarp) {
      scan_counts();
    } else {
      reserve_runs(threadIdx.x - kWarp, Shape::kThreads - kWarp);
    }
    __syncthreads();
    for (std::uint32_t slot = threadIdx.x; slot < filled; slot += Shape::kThreads) aim(slot);
    __syncthreads();
    std::uint32_t kind = 0;
    (write_kind<sizeof(typename ItemTraits<Items>::Value)>(kind++, filled), ...);
    __syncthreads();
    clear();
    __syncthreads();
  }

 private:
  static constexpr std::uint32_t kWarp = 32;

  template <class W>
  [[nodiscard]] __device__ W* at(std::size_t offset) const {
    return reinterpret_cast<W*>(shared_ + offset);
  }
  [[nodiscard]] __device__ std::uint32_t* fill() const { return at<std::uint32_t>(Layout::kFill); }
  [[nodiscard]] __device__ std::byte* slot_at(std::uint32_t slot) const {
    return shared_ + slot * Shape::kSlotStride;
  }

  __device__ void clear() {
    for (std::uint32_t bin = threadIdx.x; bin < queues_.bins(); bin += blockDim.x) counts_[bin] = 0;
    if (threadIdx.x == 0) *fill() = 0;
  }

  // The threads that put at the same time take their slots together.
  __device__ std::uint32_t next_slot() {
    const unsigned active = __activemask();
    const int leader = __ffs(static_cast<int>(active)) - 1;
    const unsigned lane = lane_id();
    std::uint32_t slot = 0;
    if (lane == static_cast<unsigned>(leader)) {
      slot = atomicAdd(fill(), static_cast<std::uint32_t>(__popc(active)));
    }
    return __shfl_sync(active, slot, leader) +
           static_cast<std::uint32_t>(__popc(active & lanes_below(lane)));
  }

  // Where each bin's items begin in the sorted order; by the first warp.
  __device__ void scan_counts() {
    std::uint32_t before = 0;
    for (std::uint32_t base = 0; base < queues_.bins(); base += kWarp) {
      const std::uint32_t bin = base + threadIdx.x;
      const std::uint32_t count = bin < queues_.bins() ? counts_[bin] : 0;
      std::uint32_t sum = count;
      for (std::uint32_t step = 1; step < kWarp; step *= 2) {
        const std::uint32_t lower = __shfl_up_sync(~0u, sum, step);
        if (threadIdx.x >= step) sum += lower;
      }
      if (bin < queues_.bins()) starts_[bin] = before + sum - count;
      before += __shfl_sync(~0u, sum, kWarp - 1);
    }
  }

  __device__ void reserve_runs(std::uint32_t thread, std::uint32_t threads) {
    for (std::uint32_t bin = thread; bin < queues_.bins(); bin += threads) {
      if (counts_[bin] == 0) continue;
      const std::uint32_t of_bin = bin / queues_.ranks;
      std::uint32_t kind = 0;
      ((kind++ == of_bin ? void(runs_[bin] = reserve<sizeof(typename ItemTraits<Items>::Value)>(
                                    queues_, bin, counts_[bin]))
                         : void()),
       ...);
    }
  }

  // Says where the item in a slot goes, and when in the sorted order.
  __device__ void aim(std::uint32_t slot) {
    const std::uint32_t bin = at<std::uint16_t>(Layout::kBins)[slot];
    const std::uint32_t place = at<std::uint16_t>(Layout::kPlaces)[slot];
    const Run& run = runs_[bin];
    const std::size_t size = size_of_kind(bin / queues_.ranks);
    std::byte* const base = place < run.split ? run.first : run.second;
    const std::uint32_t within = place < run.split ? place : place - run.split;
    const std::uint32_t position = starts_[bin] + place;
    at<std::uint16_t>(Layout::kOrder)[position] = static_cast<std::uint16_t>(slot);
    at<std::byte*>(Layout::kTargets)[position] = base == nullptr ? nullptr : base + within * size;
    if (base == nullptr) note_refusal(queues_, Emitted::full, 0);
  }
  [[nodiscard]] __device__ static std::size_t size_of_kind(std::uint32_t of) {
    std::size_t size = 0;
    std::uint32_t kind = 0;
    ((kind++ == of ? void(size = sizeof(typename ItemTraits<Items>::Value)) : void()), ...);
    return size;
  }

  template <std::size_t size>
  __device__ void write_kind(std::uint32_t kind, std::uint32_t filled) {
    using Packed = Words<size>;
    using Word = typename Packed::Word;
    const bool last = kind + 1 == sizeof...(Items);
    const std::uint32_t begin = kind == 0 ? 0 : starts_[kind * queues_.ranks];
    const std::uint32_t end = last ? filled : starts_[(kind + 1) * queues_.ranks];
    const std::uint32_t words = (end - begin) * Packed::kCount;
    for (std::uint32_t i = threadIdx.x; i < words; i += Shape::kThreads) {
      const std::uint32_t position = begin + i / Packed::kCount;
      std::byte* const to = at<std::byte*>(Layout::kTargets)[position];
      if (to == nullptr) continue;
      const std::uint32_t slot = at<std::uint16_t>(Layout::kOrder)[position];
      const std::uint32_t word = i % Packed::kCount;
      reinterpret_cast<Word*>(to)[word] = reinterpret_cast<const Word*>(slot_at(slot))[word];
    }
  }

  const Queues& queues_;
  std::byte* shared_;
  Run* runs_;
  std::uint32_t* counts_;  // items of each bin
  std::uint32_t* starts_;  // of each bin in the sorted order
};

// What kernel(item, out) of run(), process() and launch() gets as `out`.
template <class... Items>
class StagedEmitter {
 public:
  // `kind` and `index`: of the item that is processed.
  __device__ StagedEmitter(const Queues& queues, Stage<Items...>& stage, Rank rank,
                           std::uint32_t kind, Count index)
      : queues_(queues),
        stage_(stage),
        rank_(rank),
        key_(key_of(rank, queues.launch, kind, index)) {}

  // An item that finds no room is refused when the block writes: the next advance() tells of it.
  template <class T>
  __device__ Emitted emit(const T& item, Rank to, Priority = Priority::normal) {
    constexpr std::uint32_t kKind = checked_kind<T, Items...>();
    if (static_cast<std::uint32_t>(to) >= queues_.ranks) {
      note_refusal(queues_, Emitted::bad_rank, to);
      return Emitted::bad_rank;
    }
    if (stage_.put(item, kKind * queues_.ranks + static_cast<std::uint32_t>(to))) {
      return Emitted::ok;
    }
    const Emitted status = emit_directly(queues_, item, kKind, to, key_);
    if (status != Emitted::ok) note_refusal(queues_, status, to);
    return status;
  }
  // Slower, but it knows: an item that was not taken is the kernel's to keep.
  template <class T>
  [[nodiscard]] __device__ Emitted try_emit(const T& item, Rank to, Priority = Priority::normal) {
    if (static_cast<std::uint32_t>(to) >= queues_.ranks) return Emitted::bad_rank;
    return emit_directly(queues_, item, checked_kind<T, Items...>(), to, key_);
  }
  [[nodiscard]] __device__ Rank rank() const { return rank_; }
  [[nodiscard]] __device__ Rank ranks() const { return static_cast<Rank>(queues_.ranks); }

 private:
  const Queues& queues_;
  Stage<Items...>& stage_;
  Rank rank_;
  Count key_;
};

}  // namespace godwit::cuda::detail
