// What the GPU tells of a round, in memory of the host that it writes to.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "godwit/detail/forward/cuda/queues.cuh"

namespace godwit::cuda {

inline constexpr std::uint32_t kMaxBins = detail::kMaxKinds * detail::kMaxRanks;
// Rounds whose reports are kept: more than are ever under way.
inline constexpr std::uint32_t kReports = 4;

struct alignas(128) Report {
  std::uint64_t round;  // written last: the rest is there
  std::uint64_t alive;  // items that are not reduced, on all ranks
  detail::Refusals refusals;
  // Chunks of the GPU and of the host in use: at most in this round, and after it.
  std::uint64_t chunks_held[2];
  std::uint64_t chunks_kept[2];
  std::uint64_t items[kMaxBins];
};

// What closing a round needs to know of the kinds.
struct Kinds {
  std::uint32_t per_chunk[detail::kMaxKinds];
  std::uint32_t bytes[detail::kMaxKinds];
  bool reduced[detail::kMaxKinds];
};

// Ends a round: what was written will be read, what was read is free. Queues are those of the round
// that ends; the next one's parity is the other.
cudaError_t close_round(const detail::Queues& queues, const Kinds& kinds, std::uint64_t round,
                        Report* report, cudaStream_t stream);

}  // namespace godwit::cuda
