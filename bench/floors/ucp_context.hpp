// A context of UCX that is set up by a floor's options, not by the environment.
#pragma once

#include <ucp/api/ucp.h>

#include "floors/options.hpp"
#include "godwit/error.hpp"

namespace godwit::floors {

// Ok, or which of UCX's functions said what.
[[nodiscard]] Status check_ucx(ucs_status_t status, const char* what);

// For active messages over `tls`; a side that sleeps needs the wake-up feature. The caller's, to
// ucp_cleanup().
[[nodiscard]] Result<ucp_context_h> make_context(UcpTls tls, Waiting waiting);

}  // namespace godwit::floors
