#include "floors/ucp_side.hpp"

#include <poll.h>

#include <vector>

#include "base/fail.hpp"
#include "floors/pair.hpp"
#include "floors/ucp_context.hpp"

namespace godwit::floors {
UcpSide::~UcpSide() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status UcpSide::open(const UcpAmOptions& options, int peer_fd) {
  GODWIT_CHECK(open_worker(options));
  return connect(options, peer_fd);
}

Status UcpSide::open_worker(const UcpAmOptions& options) {
  GODWIT_TRY(context_, make_context(options.tls, options.waiting));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  GODWIT_CHECK(check_ucx(ucp_worker_create(context_, &params, &worker_), "ucp_worker_create"));
  if (options.waiting == Waiting::poll) return {};
  return check_ucx(ucp_worker_get_efd(worker_, &wake_fd_), "ucp_worker_get_efd");
}

Status UcpSide::connect(const UcpAmOptions& options, int peer_fd) {
  ucp_address_t* own = nullptr;
  std::size_t own_size = 0;
  GODWIT_CHECK(
      check_ucx(ucp_worker_get_address(worker_, &own, &own_size), "ucp_worker_get_address"));
  Status sent = send_all(peer_fd, &own_size, sizeof own_size);
  if (sent) sent = send_all(peer_fd, own, own_size);
  ucp_worker_release_address(worker_, own);
  GODWIT_CHECK(sent);
  std::size_t peer_size = 0;
  GODWIT_CHECK(receive_all(peer_fd, &peer_size, sizeof peer_size));
  std::vector<char> peer(peer_size);
  GODWIT_CHECK(receive_all(peer_fd, peer.data(), peer.size()));

  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  params.err_mode = options.peer_errors ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  return check_ucx(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
}

Status UcpSide::close(int peer_fd) {
  ucp_request_param_t params{};  // no FORCE: flush
  void* request = ucp_ep_close_nbx(endpoint_, &params);
  if (UCS_PTR_IS_PTR(request)) {
    constexpr std::uint64_t kFlushLimitNs = 1'000'000'000;
    const std::uint64_t deadline_ns = now_ns() + kFlushLimitNs;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < deadline_ns) {
      ucp_worker_progress(worker_);
    }
    ucp_request_free(request);
  }
  // The peer may need this side to progress until its own endpoint is flushed.
  char done = 'd';
  GODWIT_CHECK(send_all(peer_fd, &done, 1));
  pollfd waiting{.fd = peer_fd, .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, 0) == 0) ucp_worker_progress(worker_);
  return receive_all(peer_fd, &done, 1);
}

Status UcpSide::progress(int peer_fd) {
  if (ucp_worker_progress(worker_) != 0 || wake_fd_ < 0) return {};
  const ucs_status_t armed = ucp_worker_arm(worker_);
  if (armed == UCS_ERR_BUSY) return {};
  GODWIT_CHECK(check_ucx(armed, "ucp_worker_arm"));
  pollfd waiting[2] = {{.fd = wake_fd_, .events = POLLIN, .revents = 0},
                       {.fd = peer_fd, .events = POLLIN, .revents = 0}};
  constexpr int kForever = -1;  // bounded by the process's alarm and the peer's end of file
  (void)::poll(waiting, 2, kForever);
  if (waiting[1].revents != 0) peer_done_ = true;
  return {};
}

bool UcpSide::peer_done(int peer_fd) noexcept {
  constexpr std::uint32_t kCheckEvery = 1U << 14;
  if (++checks_ % kCheckEvery == 0) peer_done_ = peer_is_done(peer_fd);
  return peer_done_;
}

}  // namespace godwit::floors
