#include "fabric/ucx/worker.hpp"

#include <utility>

#include "base/fail.hpp"
#include "fabric/ucx/signals.hpp"

namespace godwit::fabric::ucx {
namespace {

struct Setting {
  const char* name;
  const char* value;
};

Status check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return {};
  return tl::unexpected(ucx_error(ErrorCode::resource_exhausted, what, status));
}

// Settings go into this context's configuration, never into the process's environment.
Status configure(ucp_config_t* config, const Devices& devices) {
  const Setting settings[] = {
      {"TLS", devices.tls.c_str()},
      {"NET_DEVICES", devices.net.c_str()},
      // With zero-copy sends an assertion in UCX 1.13.1 ends this process when a peer is killed
      // during a large send (process_test.cpp).
      {"ZCOPY_THRESH", "inf"},
      // tcp's buffers, from 8 and 64 KiB: fewer system calls in a bulk transfer that is copied.
      {"TX_SEG_SIZE", "64K"},
      {"RX_SEG_SIZE", "256K"},
  };
  for (const Setting& setting : settings) {
    const ucs_status_t status = ucp_config_modify(config, setting.name, setting.value);
    if (status == UCS_OK) continue;
    return tl::unexpected(ucx_error(ErrorCode::unsupported,
                                    fmt::format("UCX refuses {}={}", setting.name, setting.value),
                                    status));
  }
  return {};
}

}  // namespace

Error ucx_error(ErrorCode code, std::string what, ucs_status_t status) {
  return {code, fmt::format("{}: {}", std::move(what), ucs_status_string(status))};
}

Result<std::unique_ptr<Worker>> Worker::create(const Devices& devices) {
  give_back_signals();
  std::unique_ptr<Worker> worker(new Worker);
  GODWIT_CHECK(worker->open(devices));
  return worker;
}

Worker::~Worker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Status Worker::open(const Devices& devices) {
  ucp_config_t* config = nullptr;
  GODWIT_CHECK(check(ucp_config_read(nullptr, nullptr, &config), "cannot read UCX's settings"));
  Status configured = configure(config, devices);
  if (configured) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.name = "godwit";
    configured = check(ucp_init(&params, config, &context_), "cannot start UCX");
  }
  ucp_config_release(config);
  GODWIT_CHECK(configured);

  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  GODWIT_CHECK(check(ucp_worker_create(context_, &params, &worker_), "cannot make a UCX worker"));
  GODWIT_CHECK(check(ucp_worker_get_efd(worker_, &wake_fd_), "cannot get UCX's event descriptor"));
  return read_address();
}

Status Worker::read_address() {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  GODWIT_CHECK(check(ucp_worker_get_address(worker_, &address, &size),
                     "cannot get the UCX worker's address"));
  address_.assign(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker_, address);
  return {};
}

Status Worker::set_handler(unsigned am_id, ucp_am_recv_callback_t callback, void* argument) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  params.id = am_id;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  params.cb = callback;
  params.arg = argument;
  return check(ucp_worker_set_am_recv_handler(worker_, &params), "cannot set UCX's AM handler");
}

}  // namespace godwit::fabric::ucx
