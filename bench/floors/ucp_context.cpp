#include "floors/ucp_context.hpp"

#include "base/fail.hpp"

namespace godwit::floors {
namespace {

const char* tls_of(UcpTls tls) {
  switch (tls) {
    case UcpTls::posix: return "posix,cma";
    case UcpTls::sysv: return "sysv,cma";
    case UcpTls::tcp: return "tcp";
  }
  return "";
}

}  // namespace

Status check_ucx(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return {};
  return fail(ErrorCode::internal, "ucp_am floor: {}: {}", what, ucs_status_string(status));
}

// Set on the configuration, not in the environment: the environment would leak into the subject.
Result<ucp_context_h> make_context(UcpTls tls, Waiting waiting) {
  ucp_config_t* config = nullptr;
  GODWIT_CHECK(check_ucx(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
  ucs_status_t status = ucp_config_modify(config, "TLS", tls_of(tls));
  if (status == UCS_OK && tls == UcpTls::tcp) {
    status = ucp_config_modify(config, "NET_DEVICES", "lo");
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  if (waiting == Waiting::sleep) params.features |= UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (status == UCS_OK) status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  GODWIT_CHECK(check_ucx(status, "ucp_init"));
  return context;
}

}  // namespace godwit::floors
