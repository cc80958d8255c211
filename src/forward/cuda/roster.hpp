// Who the ranks on GPUs are, and which of them share one.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forward/cuda/mail.hpp"
#include "godwit/cuda/options.hpp"
#include "godwit/detail/forward/cuda/queues.cuh"
#include "godwit/error.hpp"
#include "godwit/kernel.hpp"

namespace godwit::cuda {

// An error, or none, in a message.
struct Verdict {
  std::uint32_t code = 0;
  char text[600] = {};

  static Verdict of(const Error& error);
  [[nodiscard]] Status status() const;
};

// What a rank on a GPU tells the others.
struct Hello {
  static constexpr std::uint16_t kTag = 0;
  Verdict verdict{};
  std::uint64_t host = 0;
  std::array<char, 16> gpu{};
  std::uint32_t team = 0;  // Options::team
  pid_t process = 0;
  int device = 0;  // as the process counts
  std::uint64_t queue_bytes = 0;
  std::uint64_t spill_bytes = 0;

  // Whether both work on the same queues.
  [[nodiscard]] bool shares_memory_with(const Hello& other) const noexcept {
    return host == other.host && gpu == other.gpu && team == other.team;
  }
  [[nodiscard]] bool shares_process_with(const Hello& other) const noexcept {
    return host == other.host && process == other.process;
  }
};

// By rank; nothing of ranks on CPUs.
using Roster = std::vector<std::optional<Hello>>;

// Makes the GPU the one that this thread uses. What fails is in the verdict.
[[nodiscard]] Hello introduce(const Options& options);
// Says hello to all ranks on GPUs, and hears theirs.
[[nodiscard]] Result<Roster> call_the_roll(Mail& mail, const forward::Outpost& outpost, Rank rank,
                                           Rank ranks, const Hello& mine);
// Makes kernels here read the memory of other ranks' GPUs in this process, where the hardware can
// do that; of which ranks they can, this tells. From others the driver copies through the host.
[[nodiscard]] std::array<bool, detail::kMaxRanks> reach_peers(const Roster& roster,
                                                              const Hello& mine);

}  // namespace godwit::cuda
