// What a kernel of one's own sees of a cuda::Exchange.
//
//   __global__ void trace(godwit::cuda::DeviceView<Ray> rays, Scene scene) {
//     const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
//     if (i >= rays.incoming_count()) return;
//     const Ray next = step(scene, rays.incoming(i));
//     if (next.alive) rays.emit(next, scene.owner(next));
//   }
//
// Passed by value; valid for the round in which it was made. emit() reserves once for the threads
// of a warp that emit to one rank together; functors given to run() and process() are two to three
// times as fast, since they reserve once for a block.
#pragma once

#include <cstdint>
#include <tuple>

#include "godwit/detail/forward/cuda/emit.cuh"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/items.hpp"
#include "godwit/kernel.hpp"

namespace godwit::cuda {

template <class... Items>
class DeviceView {
  using First =
      typename godwit::detail::ItemTraits<std::tuple_element_t<0, std::tuple<Items...>>>::Value;

 public:
  DeviceView(const detail::Queues& queues, Rank rank) : queues_(queues), rank_(rank) {}

  template <class T = First>
  [[nodiscard]] __device__ std::uint64_t incoming_count() const {
    return queues_.reading(bin<T>(rank_)).items;
  }
  // The item at `index`, below incoming_count<T>(). A copy.
  template <class T = First>
  [[nodiscard]] __device__ T incoming(std::uint64_t index) const {
    constexpr std::uint32_t kPerChunk = detail::items_per_chunk(sizeof(T));
    const detail::ChunkId chunk = queues_.read_table(bin<T>(rank_))[index / kPerChunk];
    return detail::load_item<T>(queues_.chunk(chunk) + index % kPerChunk * sizeof(T));
  }

  // An item that is not taken is told loudly by the next advance().
  template <class T>
  __device__ Emitted emit(const T& item, Rank to) const {
    const Emitted status = try_emit(item, to);
    if (status != Emitted::ok) detail::note_refusal(queues_, status, to);
    return status;
  }
  // An item that is not taken is the caller's to keep.
  template <class T>
  [[nodiscard]] __device__ Emitted try_emit(const T& item, Rank to) const {
    if (static_cast<std::uint32_t>(to) >= queues_.ranks) return Emitted::bad_rank;
    return detail::emit_directly(queues_, item, detail::checked_kind<T, Items...>(), to,
                                 detail::key_of(rank_, queues_.launch, 0, thread()));
  }

  [[nodiscard]] __device__ Rank rank() const { return rank_; }
  [[nodiscard]] __device__ Rank ranks() const { return static_cast<Rank>(queues_.ranks); }

 private:
  // This thread's number in its grid.
  [[nodiscard]] __device__ static std::uint64_t thread() {
    const std::uint64_t block =
        (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const std::uint32_t in_block =
        (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    return block * (blockDim.x * blockDim.y * blockDim.z) + in_block;
  }
  template <class T>
  [[nodiscard]] __device__ std::uint32_t bin(Rank rank) const {
    return detail::checked_kind<T, Items...>() * queues_.ranks + static_cast<std::uint32_t>(rank);
  }

  detail::Queues queues_;
  Rank rank_;
};

}  // namespace godwit::cuda
