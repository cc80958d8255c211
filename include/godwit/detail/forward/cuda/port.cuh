// The untyped part of a cuda::Exchange: one rank's way to the queues on its GPU, and to the ranks
// it shares them with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "godwit/cuda/options.hpp"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/export.hpp"
#include "godwit/group.hpp"
#include "godwit/items.hpp"

namespace godwit::cuda::detail {

// Larger data belongs behind a pointer into the GPU's memory.
inline constexpr std::size_t kMaxFunctorBytes = 4096;

// How to launch process_items for some functor; the same for all ranks that run the same one.
struct Launcher {
  const void* kernel = nullptr;  // for cudaLaunchKernel: (Queues, Crew)
  std::size_t shared_bytes = 0;
  std::uint32_t threads = 0;
  std::uint32_t blocks = 0;  // that the GPU runs at once
  bool operator==(const Launcher&) const = default;
};

// Folds the incoming items of one kind; on the stream given.
using Fold = std::function<void(const Queues& queues, std::uint32_t bin, cudaStream_t stream)>;

// One rank of one exchange; used by the rank's own thread.
class GODWIT_API Port {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Port>> create(
      Group& group, std::span<const godwit::detail::ItemType> types, const Options& options);
  virtual ~Port() = default;

  // What this round's kernels see; anew for each launch.
  [[nodiscard]] virtual Queues begin_launch() noexcept = 0;
  // On which this rank's kernels are launched; advance() waits for what is on it.
  [[nodiscard]] virtual cudaStream_t stream() noexcept = 0;
  // The same, for the user: what he launches is not known here.
  [[nodiscard]] virtual cudaStream_t give_stream() noexcept = 0;
  // This rank alone, with a functor to be copied to the GPU. Valid until the next call.
  [[nodiscard]] virtual Result<Crew> crew(std::span<const std::byte> functor) = 0;
  virtual void set_fold(std::uint32_t kind, Fold fold) = 0;
  // Says that this round's incoming items are processed, so that run() does not do it again.
  virtual void mark_processed() noexcept = 0;

  [[nodiscard]] virtual Result<Round> advance() = 0;
  [[nodiscard]] virtual Result<RunReport> run(const Launcher& launcher,
                                              std::span<const std::byte> functor) = 0;
  [[nodiscard]] virtual std::uint64_t incoming(std::uint32_t kind) const noexcept = 0;
  [[nodiscard]] virtual ExchangeStatus status() const noexcept = 0;
};

// Of the kernel at `kernel`, on the current GPU.
[[nodiscard]] GODWIT_API Result<Launcher> make_launcher(const void* kernel,
                                                        std::size_t shared_bytes,
                                                        std::uint32_t threads);
// Launches a process_items kernel for about `items` items.
[[nodiscard]] GODWIT_API Status launch_items(const Launcher& launcher, const Queues& queues,
                                             const Crew& crew, std::uint64_t items,
                                             cudaStream_t stream);
[[nodiscard]] GODWIT_API Status check_launch(const char* what);

}  // namespace godwit::cuda::detail
