// Which of UCX's transports and network devices a process may use.
#pragma once

#include <string>

#include "fabric/address.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::ucx {

// Values of UCX's TLS and NET_DEVICES settings.
struct Devices {
  std::string tls;
  std::string net;
};

// UCX opens ports of its own on every device it may use, so they follow the address this process is
// reached at: loopback means `lo` alone, an interface's address that interface and the RDMA device
// on the same card, if there is one; 0.0.0.0 and :: mean all. Resolves host names, so it may block.
// bad_address if no interface of this machine has the address.
[[nodiscard]] Result<Devices> devices_for(const Address& address);

}  // namespace godwit::fabric::ucx
