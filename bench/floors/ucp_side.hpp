// One process's half of the raw ucp_am floor: a context, a worker and an endpoint to the peer.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>

#include "floors/options.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

class UcpSide {
 public:
  UcpSide() = default;
  UcpSide(const UcpSide&) = delete;
  UcpSide& operator=(const UcpSide&) = delete;
  ~UcpSide();

  // Makes the worker, swaps worker addresses over the socket and makes the endpoint.
  [[nodiscard]] Status open(const UcpAmOptions& options, int peer_fd);
  // Flushes and closes the endpoint, then waits until the peer did the same: neither side destroys
  // what the other still reads.
  [[nodiscard]] Status close(int peer_fd);

  [[nodiscard]] ucp_worker_h worker() const noexcept { return worker_; }
  [[nodiscard]] ucp_ep_h endpoint() const noexcept { return endpoint_; }

  // Progresses once; when there is nothing to do and this side sleeps, blocks until there is or
  // until the peer is done.
  [[nodiscard]] Status progress(int peer_fd);
  // Every so many idle polls, looks whether the peer is done; cheap enough for the inner loop.
  [[nodiscard]] bool peer_done(int peer_fd) noexcept;

 private:
  [[nodiscard]] Status open_worker(const UcpAmOptions& options);
  [[nodiscard]] Status connect(const UcpAmOptions& options, int peer_fd);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  int wake_fd_ = -1;
  bool peer_done_ = false;
  std::uint32_t checks_ = 0;
};

}  // namespace godwit::floors
