// Puts a round's items into the order of their keys: for exchanges that are deterministic.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "forward/cuda/report.hpp"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/error.hpp"

namespace godwit::cuda {

// Items are copied in order into chunks of their own, which are never among the free ones; those
// that they came in are free then. Needs 24 bytes of the GPU's memory for each item there is room
// for.
class Sorter {
 public:
  // For the items that fit into the chunks of `queues`.
  [[nodiscard]] static Result<std::unique_ptr<Sorter>> create(const detail::Queues& queues);
  ~Sorter();
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  // Sorts what is to be read now; `items` for each bin. Launches, and does not wait.
  [[nodiscard]] Status sort(const detail::Queues& queues, const Kinds& kinds,
                            std::span<const std::uint64_t> items, cudaStream_t stream);

 private:
  Sorter() = default;

  std::uint64_t room_ = 0;  // items
  void* memory_ = nullptr;
  std::uint64_t* keys_[2] = {};  // before and after
  std::uint32_t* places_[2] = {};
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace godwit::cuda
