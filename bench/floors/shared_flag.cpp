// A sequence number handed back and forth in shared memory.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/fail.hpp"
#include "floors/floors.hpp"
#include "floors/pair.hpp"

namespace godwit::floors {
namespace {

constexpr std::size_t kLine = 64;

// One direction. With 56 bytes of payload the flag ends the payload's line; with 64 it has its own.
struct alignas(kLine) Lane {
  std::byte bytes[2 * kLine];

  std::atomic_ref<std::uint64_t> flag(std::size_t payload_bytes) noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(bytes + payload_bytes));
  }
};
struct Lanes {
  Lane to_server;
  Lane to_client;
};

void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns false when the peer left while this side was waiting.
bool wait_for(Lane& lane, std::size_t payload_bytes, std::uint64_t value, int peer_fd,
              std::byte* payload) {
  constexpr std::uint32_t kCheckEvery = 1U << 20;
  const auto flag = lane.flag(payload_bytes);
  for (std::uint32_t spins = 1; flag.load(std::memory_order_acquire) != value; ++spins) {
    if (spins % kCheckEvery == 0 && peer_is_done(peer_fd)) return false;
    pause_core();
  }
  std::memcpy(payload, lane.bytes, payload_bytes);
  return true;
}

void publish(Lane& lane, std::size_t payload_bytes, std::uint64_t value, const std::byte* payload) {
  std::memcpy(lane.bytes, payload, payload_bytes);
  lane.flag(payload_bytes).store(value, std::memory_order_release);
}

Status serve(Lanes& lanes, const SharedFlagOptions& options, int peer_fd) {
  std::byte payload[kLine];
  const std::uint64_t last = options.run.warm_up_rounds + options.run.rounds;
  for (std::uint64_t round = 1; round <= last; ++round) {
    if (!wait_for(lanes.to_server, options.payload_bytes, round, peer_fd, payload)) break;
    publish(lanes.to_client, options.payload_bytes, round, payload);
  }
  return {};
}

Result<Sample> ask(Lanes& lanes, const SharedFlagOptions& options, int peer_fd) {
  std::byte payload[kLine] = {};
  RoundTrips times(options.run.rounds);
  const std::uint64_t last = options.run.warm_up_rounds + options.run.rounds;
  std::uint64_t begin_ns = now_ns();
  std::uint64_t sent_ns = begin_ns;
  for (std::uint64_t round = 1; round <= last; ++round) {
    publish(lanes.to_server, options.payload_bytes, round, payload);
    if (!wait_for(lanes.to_client, options.payload_bytes, round, peer_fd, payload)) {
      return fail(ErrorCode::internal, "the shared-flag server left early");
    }
    const std::uint64_t answered_ns = now_ns();
    if (round > options.run.warm_up_rounds) times.add(answered_ns - sent_ns);
    if (round == options.run.warm_up_rounds) begin_ns = answered_ns;
    sent_ns = answered_ns;
  }
  return times.summarise(sent_ns - begin_ns);
}

}  // namespace

Result<Sample> measure_shared_flag(const SharedFlagOptions& options) {
  if (options.payload_bytes != 56 && options.payload_bytes != 64) {
    return fail(ErrorCode::invalid_argument, "shared flag: payload is 56 or 64 bytes, not {}",
                options.payload_bytes);
  }
  void* memory =
      ::mmap(nullptr, sizeof(Lanes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::out_of_memory, "shared flag: mmap: {}", errno_text(errno));
  }
  auto& lanes = *::new (memory) Lanes{};
  auto sample = run_pair(options.run, {.server = [&](int fd) { return serve(lanes, options, fd); },
                                       .client = [&](int fd) { return ask(lanes, options, fd); }});
  ::munmap(memory, sizeof(Lanes));
  return sample;
}

}  // namespace godwit::floors
