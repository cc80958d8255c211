// A UCX context with one worker: where this process's active messages come in and go out.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "fabric/ucx/devices.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::ucx {

[[nodiscard]] Error ucx_error(ErrorCode code, std::string what, ucs_status_t status);

// One owner at a time may call; ownership may move between threads. Endpoints are destroyed first.
class Worker {
 public:
  // Only active messages and wake-ups: RMA and atomics stay off, because over tcp UCX applies them
  // to whatever address the peer names.
  [[nodiscard]] static Result<std::unique_ptr<Worker>> create(const Devices& devices);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  [[nodiscard]] ucp_worker_h handle() const noexcept { return worker_; }
  // What a peer needs to make an endpoint to this worker.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] int wake_fd() const noexcept { return wake_fd_; }
  [[nodiscard]] Status set_handler(unsigned am_id, ucp_am_recv_callback_t callback, void* argument);
  // Runs callbacks; returns 0 when there was nothing to do.
  unsigned progress() noexcept { return ucp_worker_progress(worker_); }
  // True: from here on new work makes wake_fd() readable. False: there is work now.
  [[nodiscard]] bool arm() noexcept { return ucp_worker_arm(worker_) == UCS_OK; }

 private:
  Worker() = default;
  [[nodiscard]] Status open(const Devices& devices);
  [[nodiscard]] Status read_address();

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int wake_fd_ = -1;
};

}  // namespace godwit::fabric::ucx
