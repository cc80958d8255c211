#include "floors/ucp_member.hpp"

#include <poll.h>
#include <sched.h>

#include <cstring>

#include "base/fail.hpp"
#include "floors/ucp_context.hpp"

namespace godwit::floors {
namespace {

constexpr std::uint32_t kListening = 1;
constexpr std::uint32_t kConnected = 2;
constexpr std::uint32_t kFlushed = 3;
constexpr std::uint64_t kSpinNs = 50'000;

}  // namespace

UcpMember::~UcpMember() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status UcpMember::open(UcpTls tls, unsigned am_id, ucp_am_recv_callback_t callback, void* user) {
  am_id_ = am_id;
  GODWIT_TRY(context_, make_context(tls, Waiting::sleep));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  GODWIT_CHECK(check_ucx(ucp_worker_create(context_, &params, &worker_), "ucp_worker_create"));
  GODWIT_CHECK(check_ucx(ucp_worker_get_efd(worker_, &wake_fd_), "ucp_worker_get_efd"));
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = am_id;
  handler.cb = callback;
  handler.arg = user;
  GODWIT_CHECK(check_ucx(ucp_worker_set_am_recv_handler(worker_, &handler), "AM handler"));

  ucp_address_t* own = nullptr;
  std::size_t bytes = 0;
  GODWIT_CHECK(check_ucx(ucp_worker_get_address(worker_, &own, &bytes), "ucp_worker_get_address"));
  Board::Seat& seat = board_.seats[seat_];
  const bool fits = bytes <= sizeof seat.address;
  if (fits) std::memcpy(seat.address, own, bytes);
  seat.address_bytes = static_cast<std::uint32_t>(bytes);
  ucp_worker_release_address(worker_, own);
  if (!fits) return fail(ErrorCode::too_large, "ucp_am chase: an address of {} bytes", bytes);
  GODWIT_CHECK(meet(kListening));
  GODWIT_CHECK(connect());
  return meet(kConnected);
}

Status UcpMember::connect() {
  endpoints_.resize(seats_);
  for (std::size_t i = 0; i < seats_; ++i) {
    if (i == seat_) continue;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(board_.seats[i].address);
    GODWIT_CHECK(check_ucx(ucp_ep_create(worker_, &params, &endpoints_[i]), "ucp_ep_create"));
  }
  return {};
}

Status UcpMember::meet(std::uint32_t stage) {
  board_.seats[seat_].stage.store(stage, std::memory_order_release);
  for (std::size_t i = 0; i < seats_; ++i) {
    while (board_.seats[i].stage.load(std::memory_order_acquire) < stage) {
      if (worker_ != nullptr) ucp_worker_progress(worker_);
      ::sched_yield();
    }
  }
  return {};
}

Status UcpMember::close() {
  for (ucp_ep_h endpoint : endpoints_) {
    if (endpoint == nullptr) continue;
    ucp_request_param_t params{};
    void* request = ucp_ep_close_nbx(endpoint, &params);
    if (!UCS_PTR_IS_PTR(request)) continue;
    constexpr std::uint64_t kFlushLimitNs = 1'000'000'000;
    const std::uint64_t deadline_ns = now_ns() + kFlushLimitNs;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && now_ns() < deadline_ns) {
      ucp_worker_progress(worker_);
      ::sched_yield();
    }
    ucp_request_free(request);
  }
  return meet(kFlushed);
}

void UcpMember::on_sent(void* request, ucs_status_t status, void* user) {
  static_cast<UcpMember*>(user)->failed_ |= status != UCS_OK;
  ucp_request_free(request);
}

void UcpMember::send(std::size_t to, const void* message, std::size_t bytes) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = &UcpMember::on_sent;
  params.user_data = this;
  void* request = ucp_am_send_nbx(endpoints_[to], am_id_, message, bytes, nullptr, 0, &params);
  failed_ |= UCS_PTR_IS_ERR(request);
}

void UcpMember::progress() {
  if (ucp_worker_progress(worker_) != 0) {
    idle_since_ns_ = 0;
    return;
  }
  ::sched_yield();
  const std::uint64_t now = now_ns();
  if (idle_since_ns_ == 0) idle_since_ns_ = now;
  if (now - idle_since_ns_ > kSpinNs) nap();
}

void UcpMember::nap() {
  if (ucp_worker_arm(worker_) != UCS_OK) return;
  pollfd waiting{.fd = wake_fd_, .events = POLLIN, .revents = 0};
  constexpr int kLookMs = 5;  // for the end, which is no message
  (void)::poll(&waiting, 1, kLookMs);
  idle_since_ns_ = 0;
}

}  // namespace godwit::floors
