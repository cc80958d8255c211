// Two forked processes that measure something between them.
#pragma once

#include <functional>

#include "floors/options.hpp"
#include "floors/sample.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

// Each side gets one end of a socketpair. Reaching end of file there means the other side is gone.
struct Sides {
  std::function<Status(int peer_fd)> server;
  std::function<Result<Sample>(int peer_fd)> client;
};

// Forks both sides, pins them, waits for them and returns the client's sample. Both are killed
// after run.limit_s, or when this process dies.
[[nodiscard]] Result<Sample> run_pair(const RunOptions& run, const Sides& sides);

// Whole messages over a stream socket; used to exchange addresses before the measurement.
[[nodiscard]] Status send_all(int fd, const void* data, std::size_t size);
[[nodiscard]] Status receive_all(int fd, void* data, std::size_t size);
// True once the other side wrote something more, or is gone: the exchange is over. Does not block;
// one system call.
[[nodiscard]] bool peer_is_done(int fd) noexcept;

}  // namespace godwit::floors
