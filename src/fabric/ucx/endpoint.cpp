#include "fabric/ucx/endpoint.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "base/fail.hpp"

namespace godwit::fabric::ucx {

Result<Endpoint> Endpoint::create(Worker& worker, std::string_view peer_address,
                                  ucp_err_handler_cb_t on_error, void* argument) {
  if (peer_address.size() < kMinAddressSize || peer_address.size() > kMaxAddressSize) {
    return fail(ErrorCode::handshake_failed,
                "the peer's UCX address has {} bytes, which is not between {} and {}; does it run "
                "the same version?",
                peer_address.size(), kMinAddressSize, kMaxAddressSize);
  }
  // UCX's reader is not told where the address ends: behind it lie zeros, not somebody's memory.
  std::vector<char> padded(kMaxAddressSize * 4, '\0');
  peer_address.copy(padded.data(), peer_address.size());

  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(padded.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_error;
  params.err_handler.arg = argument;
  Endpoint endpoint;
  endpoint.worker_ = &worker;
  const ucs_status_t status = ucp_ep_create(worker.handle(), &params, &endpoint.endpoint_);
  if (status == UCS_OK) return endpoint;
  return tl::unexpected(ucx_error(
      ErrorCode::unreachable, "UCX cannot reach the peer; are both on the same network?", status));
}

Endpoint::Endpoint(Endpoint&& other) noexcept
    : worker_(std::exchange(other.worker_, nullptr)),
      endpoint_(std::exchange(other.endpoint_, nullptr)),
      closing_(std::exchange(other.closing_, nullptr)) {}

Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
  if (this != &other) {
    reset();
    worker_ = std::exchange(other.worker_, nullptr);
    endpoint_ = std::exchange(other.endpoint_, nullptr);
    closing_ = std::exchange(other.closing_, nullptr);
  }
  return *this;
}

void Endpoint::close_now() noexcept {
  if (endpoint_ == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* const request = ucp_ep_close_nbx(std::exchange(endpoint_, nullptr), &params);
  if (UCS_PTR_IS_PTR(request)) closing_ = request;
}

bool Endpoint::closed() noexcept {
  if (closing_ != nullptr && ucp_request_check_status(closing_) != UCS_INPROGRESS) {
    ucp_request_free(std::exchange(closing_, nullptr));
  }
  return endpoint_ == nullptr && closing_ == nullptr;
}

void Endpoint::reset() noexcept {
  using Clock = std::chrono::steady_clock;
  close_now();
  const auto deadline = Clock::now() + std::chrono::milliseconds(kCloseLimitMs);
  while (!closed() && Clock::now() < deadline) worker_->progress();
  if (closing_ != nullptr) ucp_request_free(std::exchange(closing_, nullptr));
}

}  // namespace godwit::fabric::ucx
