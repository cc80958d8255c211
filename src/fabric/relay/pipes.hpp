// Pipes for splice(2): bytes go from socket to socket without a visit to this process's memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/fd.hpp"

namespace godwit::fabric::relay {

struct Pipe {
  Fd out;
  Fd in;
  std::size_t filled_bytes = 0;
};

// A direction has a pipe only while bytes are stuck in it, so that there are as many pipes as slow
// receivers, and not as many as links. Not thread-safe.
class Pipes {
 public:
  static constexpr std::size_t kKept = 16;
  // Slots are what counts: the system lets a user without rights have 64 MiB of such pipes.
  static constexpr int kPipeBytes = 256 << 10;

  // nullopt: the process is out of descriptors.
  [[nodiscard]] std::optional<Pipe> take() {
    if (!free_.empty()) {
      Pipe pipe = std::move(free_.back());
      free_.pop_back();
      return pipe;
    }
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
    (void)::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
    return Pipe{Fd(ends[0]), Fd(ends[1]), 0};
  }
  // An empty one.
  void give_back(Pipe pipe) {
    if (free_.size() < kKept) free_.push_back(std::move(pipe));
  }

 private:
  std::vector<Pipe> free_;
};

}  // namespace godwit::fabric::relay
