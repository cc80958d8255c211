// The memory of a GPU that an exchange lives in: queues, tables and chunks, in two allocations.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/error.hpp"

namespace godwit::cuda {

struct PoolSize {
  std::uint32_t ranks = 0;
  std::uint32_t kinds = 0;
  std::uint32_t device_chunks = 0;
  std::uint32_t host_chunks = 0;
  // If items are to be in order: of all chunks, for each; and there are as many chunks again for
  // the items in order.
  std::uint32_t keys_per_chunk = 0;

  [[nodiscard]] std::size_t device_bytes() const noexcept {
    return std::size_t{device_chunks} * detail::kChunkBytes * (keys_per_chunk > 0 ? 2 : 1);
  }
};

// How another process of this host gets at it.
struct PoolHandles {
  cudaIpcMemHandle_t control;
  cudaIpcMemHandle_t chunks;
};

class Pool {
 public:
  // On the current GPU. `host_chunks`: the memory to spill into, as the GPU sees it.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> create(const PoolSize& size,
                                                            std::byte* host_chunks);
  // Another process' pool, of the same size.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> open(const PoolSize& size,
                                                          const PoolHandles& handles,
                                                          std::byte* host_chunks);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] Result<PoolHandles> handles() const;
  [[nodiscard]] const detail::Queues& queues() const noexcept { return queues_; }

 private:
  explicit Pool(bool owned) : owned_(owned) {}
  void lay_out(const PoolSize& size, std::byte* host_chunks);
  [[nodiscard]] Status fill(const PoolSize& size);

  bool owned_;
  void* control_ = nullptr;
  void* chunks_ = nullptr;
  detail::Queues queues_;
};

}  // namespace godwit::cuda
