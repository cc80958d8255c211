// A UCX endpoint: the sending half of a link.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <string_view>

#include "fabric/ucx/worker.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::ucx {

// Moves; ends either through close_now() and a true closed(), or by being destroyed, which waits
// for UCX for at most kCloseLimitMs. Every member is called by the worker's owner, never from
// inside a UCX callback.
class Endpoint {
 public:
  // A worker's address is some 50 to 300 bytes.
  static constexpr std::size_t kMinAddressSize = 16;
  static constexpr std::size_t kMaxAddressSize = 2048;
  static constexpr int kCloseLimitMs = 1000;

  Endpoint() = default;
  // `on_error` is called at most once, from inside progress; it may only take a note.
  [[nodiscard]] static Result<Endpoint> create(Worker& worker, std::string_view peer_address,
                                               ucp_err_handler_cb_t on_error, void* argument);
  Endpoint(Endpoint&& other) noexcept;
  Endpoint& operator=(Endpoint&& other) noexcept;
  ~Endpoint() { reset(); }

  [[nodiscard]] ucp_ep_h handle() const noexcept { return endpoint_; }

  // Drops the connection; requests under way complete, most with an error, as the worker
  // progresses. Again: nothing.
  void close_now() noexcept;
  // True once UCX has let go of it.
  [[nodiscard]] bool closed() noexcept;

 private:
  void reset() noexcept;

  Worker* worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  void* closing_ = nullptr;  // UCX's request
};

}  // namespace godwit::fabric::ucx
