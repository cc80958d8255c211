// The untyped part of a cuda::Exchange: one rank's way to the queues on its GPU, and to the ranks
// it shares them with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "godwit/cuda/options.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/detail/forward/kept.hpp"
#include "godwit/detail/forward/port.hpp"
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
  virtual void set_fold(std::uint32_t kind, Fold fold) = 0;
  // Says that this round's incoming items are processed, so that run() does not do it again.
  virtual void mark_processed() noexcept = 0;

  // An item of the host's, as if a kernel had emitted it; full: CUDA failed, and the next round
  // says how.
  [[nodiscard]] virtual Emitted put(std::uint32_t kind, std::span<const std::byte> item,
                                    Rank to) noexcept = 0;
  // This round's incoming items of one kind, to memory for all of them. Waits.
  [[nodiscard]] virtual Status copy_incoming(std::uint32_t kind, std::byte* to) = 0;

  [[nodiscard]] virtual Result<Round> advance() = 0;
  // Launches a functor, which is copied to the GPU, for this round's incoming items.
  [[nodiscard]] virtual Status process(const Launcher& launcher,
                                       std::span<const std::byte> functor) = 0;
  [[nodiscard]] virtual Result<RunReport> run(const Launcher& launcher,
                                              std::span<const std::byte> functor,
                                              const RunOptions& options) = 0;
  [[nodiscard]] virtual std::uint64_t incoming(std::uint32_t kind) const noexcept = 0;
  [[nodiscard]] virtual ExchangeStatus status() const noexcept = 0;

  [[nodiscard]] virtual Status checkpoint(const std::string& folder) = 0;
  virtual void keep(godwit::detail::Kept kept) = 0;
  using Restoring = godwit::detail::Port::Restoring;
  // Puts the items of a saved chunk, one by one, where they belong now.
  using Put = std::function<void(std::span<const std::byte> item, Rank to)>;
  using Replay = std::function<void(const godwit::detail::Chunk& chunk, const Put& put)>;
  [[nodiscard]] virtual Result<std::uint64_t> restore(const std::string& folder,
                                                      const Replay& replay, Restoring how) = 0;
  [[nodiscard]] virtual Status save_trace(const std::string& path) = 0;
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
