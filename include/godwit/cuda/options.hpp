// What a cuda::Exchange can be told when it is made.
#pragma once

#include <chrono>
#include <cstddef>

namespace godwit::cuda {

struct Options {
  // The GPU of this rank, as CUDA counts them. Ranks of one exchange share one GPU.
  int device = 0;
  // The GPU's memory for items, for each rank; ranks share it, so that one may have what the others
  // do not need. Items lie there twice while a round is processed: as they came, and as they leave.
  std::size_t queue_bytes = std::size_t{1} << 30;
  // Pinned memory of the host for what exceeds that, for each rank; slower by the ratio of PCIe to
  // the GPU's memory. 0: an item beyond queue_bytes is refused (Emitted::full).
  std::size_t spill_bytes = 0;
  // Incoming items in the order of their source ranks, and of one source in the order of the items
  // or indices that they were emitted for: the same in every run, whether ranks are threads or
  // processes. Slower by a sort in every round, and half of queue_bytes serves it; nothing spills.
  bool deterministic = false;
  // How long ranks wait for each other, when making the exchange and in every round.
  std::chrono::milliseconds patience{60'000};
};

}  // namespace godwit::cuda
