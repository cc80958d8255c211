// Memory of the host that a GPU reads and writes at the speed of its bus.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "forward/chunk_pool.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

// Pins what another arena, or the heap, gives. What cannot be pinned serves as well, slower.
class PinnedArena final : public forward::ChunkArena {
 public:
  explicit PinnedArena(std::shared_ptr<forward::ChunkArena> inner) : inner_(std::move(inner)) {}
  ~PinnedArena() override;
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  std::byte* allocate(std::size_t bytes) noexcept override;

 private:
  struct Slab {
    std::byte* memory = nullptr;
    bool from_heap = false;
    bool is_pinned = false;
  };
  const std::shared_ptr<forward::ChunkArena> inner_;
  std::vector<Slab> slabs_;
};

// An array that kernels see under the address that the host sees it under.
template <class T>
class PinnedArray {
 public:
  [[nodiscard]] Status allocate(std::size_t count) {
    void* memory = nullptr;
    const Status taken =
        check_cuda(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocPortable),
                   "taking memory of the host for an exchange");
    memory_.reset(static_cast<T*>(memory));
    return taken;
  }
  [[nodiscard]] T* data() const noexcept { return memory_.get(); }
  [[nodiscard]] T& operator[](std::size_t at) const noexcept { return memory_.get()[at]; }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { cudaFreeHost(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

// Gathers bytes of unpinned memory that go to one place of a GPU's, and sends them together.
class Stager {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Stager>> create();
  ~Stager();
  Stager(const Stager&) = delete;
  Stager& operator=(const Stager&) = delete;

  // At most kSlotBytes. The source may be changed when it returns.
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, std::size_t bytes,
                            cudaStream_t stream);
  // Launches what was gathered, and does not wait.
  [[nodiscard]] Status flush(cudaStream_t stream);

  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

 private:
  Stager() = default;
  static constexpr std::size_t kSlots = 4;

  PinnedArray<std::byte> memory_;
  std::array<cudaEvent_t, kSlots> sent_{};
  std::size_t slot_ = 0;  // that is filled
  std::size_t filled_ = 0;
  std::byte* target_ = nullptr;
};

}  // namespace godwit::cuda
