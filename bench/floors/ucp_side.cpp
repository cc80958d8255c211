#include "floors/ucp_side.hpp"

#include <poll.h>

#include <vector>

#include "base/fail.hpp"
#include "floors/pair.hpp"

namespace godwit::floors {
namespace {

Status check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return {};
  return fail(ErrorCode::internal, "ucp_am floor: {}: {}", what, ucs_status_string(status));
}

const char* tls_of(UcpTls tls) {
  switch (tls) {
    case UcpTls::posix: return "posix,cma";
    case UcpTls::sysv: return "sysv,cma";
    case UcpTls::tcp: return "tcp";
  }
  return "";
}

// Set on the configuration, not in the environment: the environment would leak into the subject.
Result<ucp_context_h> make_context(const UcpAmOptions& options) {
  ucp_config_t* config = nullptr;
  GODWIT_CHECK(check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
  ucs_status_t status = ucp_config_modify(config, "TLS", tls_of(options.tls));
  if (status == UCS_OK && options.tls == UcpTls::tcp) {
    status = ucp_config_modify(config, "NET_DEVICES", "lo");
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  if (options.waiting == Waiting::sleep) params.features |= UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (status == UCS_OK) status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  GODWIT_CHECK(check(status, "ucp_init"));
  return context;
}

}  // namespace

UcpSide::~UcpSide() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status UcpSide::open(const UcpAmOptions& options, int peer_fd) {
  GODWIT_CHECK(open_worker(options));
  return connect(options, peer_fd);
}

Status UcpSide::open_worker(const UcpAmOptions& options) {
  GODWIT_TRY(context_, make_context(options));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  GODWIT_CHECK(check(ucp_worker_create(context_, &params, &worker_), "ucp_worker_create"));
  if (options.waiting == Waiting::poll) return {};
  return check(ucp_worker_get_efd(worker_, &wake_fd_), "ucp_worker_get_efd");
}

Status UcpSide::connect(const UcpAmOptions& options, int peer_fd) {
  ucp_address_t* own = nullptr;
  std::size_t own_size = 0;
  GODWIT_CHECK(check(ucp_worker_get_address(worker_, &own, &own_size), "ucp_worker_get_address"));
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
  return check(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
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
  GODWIT_CHECK(check(armed, "ucp_worker_arm"));
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
