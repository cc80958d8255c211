// The other processes of a measurement: a raw tcp sink, a relay, and a peer enrolled at it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/fd.hpp"
#include "fabric/relay/transport.hpp"
#include "godwit/error.hpp"

namespace godwit::bench {

// Nobody beats while the others' rows are measured.
inline constexpr fabric::Heartbeat kPatient{.interval = std::chrono::seconds(1),
                                            .silence = std::chrono::minutes(5)};

// Killed and waited for when this object ends; ends with this process, however that ends.
class Side {
 public:
  explicit Side(pid_t pid) noexcept : pid_(pid) {}
  Side(Side&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Side& operator=(Side&&) = delete;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side();

 private:
  pid_t pid_;
};

// All started by fork, so before this process has threads.
struct Sides {
  trust::FleetKey key = trust::FleetKey::generate();
  fabric::Fd raw;          // a connection to the raw sink
  fabric::Address relay;   // relay:127.0.0.1:PORT
  std::uint64_t peer = 0;  // the enrolled node
  std::vector<Side> processes;

  [[nodiscard]] static Result<Sides> start();
};

// To the raw sink: so many bytes there, and the same back or one byte.
struct RawOrder {
  std::uint64_t bytes = 0;
  std::uint64_t echo = 0;
};

}  // namespace godwit::bench
