// What a cuda::Exchange can be told when it is made, and what it tells of itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace godwit::cuda {

struct Options {
  // The GPU of this rank, as CUDA counts them; create() makes it the one that the calling thread
  // uses.
  int device = 0;
  // The GPU's memory for items, for each rank; ranks on one GPU share it, so that one may have what
  // the others do not need. Items lie there twice while a round is processed: as they came, and as
  // they leave.
  std::size_t queue_bytes = std::size_t{1} << 30;
  // Pinned memory of the host for what exceeds that, for each rank; slower by the ratio of PCIe to
  // the GPU's memory. 0: an item beyond queue_bytes is refused (Emitted::full).
  std::size_t spill_bytes = 0;
  // Incoming items in the order of their source ranks, and of one source in the order of the items
  // or indices that they were emitted for: the same in every run, whether ranks are threads or
  // processes. For ranks that all share a GPU. Slower by a sort in every round, and half of
  // queue_bytes serves it; nothing spills.
  bool deterministic = false;
  // Pinned memory of the host for items on their way to ranks that do not share this GPU, for the
  // ranks of a GPU together; as used, never beforehand. What exceeds it waits in a file.
  std::size_t outside_bytes = std::size_t{256} << 20;
  // Ranks on one GPU that give different numbers here do not share its memory: what they send each
  // other is copied, as between GPUs. Shows on one GPU how a program will do on several.
  std::uint32_t team = 0;
  // Keep the last so many events of this rank (kernels, rounds, waits) for Exchange::save_trace();
  // 64 bytes each. 0: none.
  std::size_t trace_events = 0;
  // How long ranks wait for each other, when making the exchange and in every round.
  std::chrono::milliseconds patience{60'000};
};

// What an exchange has done since it was made. Memory is that of all ranks on the GPU together, in
// whole chunks of 1 MiB.
struct ExchangeStatus {
  std::uint64_t rounds = 0;
  std::uint64_t arrived = 0;           // items, on this rank
  std::uint64_t queue_bytes = 0;       // of the GPU's memory, in use since the last round
  std::uint64_t queue_high_bytes = 0;  // at most in a round
  std::uint64_t spill_bytes = 0;       // of the host's, likewise
  std::uint64_t spill_high_bytes = 0;
};

}  // namespace godwit::cuda
