#include "forward/cuda/roster.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {
namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The same for processes that can see each other's memory: one kernel, one process namespace.
std::uint64_t host_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> names{};
  if (::readlink("/proc/self/ns/pid", names.data(), names.size() - 1) > 0) boot += names.data();
  return hash_of(boot);
}

}  // namespace

Verdict Verdict::of(const Error& error) {
  Verdict verdict{.code = static_cast<std::uint32_t>(error.code)};
  error.message.copy(verdict.text, sizeof verdict.text - 1);
  return verdict;
}

Status Verdict::status() const {
  if (code == 0) return {};
  return tl::unexpected(
      Error{static_cast<ErrorCode>(code), std::string(text, ::strnlen(text, sizeof text))});
}

Hello introduce(const Options& options) {
  Hello hello{.host = host_name(),
              .team = options.team,
              .process = ::getpid(),
              .device = options.device,
              .queue_bytes = options.queue_bytes,
              .spill_bytes = options.spill_bytes};
  cudaDeviceProp gpu{};
  Status found = check_cuda(cudaSetDevice(options.device), "using the GPU");
  if (found) found = check_cuda(cudaGetDeviceProperties(&gpu, options.device), "asking the GPU");
  if (!found) {
    hello.verdict = Verdict::of(found.error());
  } else {
    std::memcpy(hello.gpu.data(), gpu.uuid.bytes, hello.gpu.size());
  }
  return hello;
}

Result<Roster> call_the_roll(Mail& mail, const forward::Outpost& outpost, Rank rank, Rank ranks,
                             const Hello& mine) {
  Roster roster(static_cast<std::size_t>(ranks));
  roster[static_cast<std::size_t>(rank)] = mine;
  Rank expected = 0;
  for (Rank other = 0; other < ranks; ++other) {
    if (other == rank || !outpost.is_elsewhere(other)) continue;
    mail.send(other, mine);
    ++expected;
  }
  for (; expected > 0; --expected) {
    GODWIT_TRY(const auto letter, mail.receive<Hello>());
    roster[static_cast<std::size_t>(letter.from)] = letter.message;
  }
  for (const std::optional<Hello>& hello : roster) {
    if (hello) GODWIT_CHECK(hello->verdict.status());
  }
  return roster;
}

std::array<bool, detail::kMaxRanks> reach_peers(const Roster& roster, const Hello& mine) {
  std::array<bool, detail::kMaxRanks> readable{};
  for (std::size_t rank = 0; rank < roster.size(); ++rank) {
    const std::optional<Hello>& hello = roster[rank];
    if (!hello || !hello->shares_process_with(mine)) continue;
    readable[rank] = hello->device == mine.device;
    int can = 0;
    if (readable[rank] ||
        cudaDeviceCanAccessPeer(&can, mine.device, hello->device) != cudaSuccess || can == 0) {
      continue;
    }
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(hello->device, 0);
    readable[rank] = enabled == cudaSuccess || enabled == cudaErrorPeerAccessAlreadyEnabled;
  }
  (void)cudaGetLastError();  // whatever it was, it is told here
  return readable;
}

}  // namespace godwit::cuda
