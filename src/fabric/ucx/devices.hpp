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

  [[nodiscard]] bool is_tcp_only() const { return tls == "tcp"; }
};

// UCX opens ports of its own on every device it may use, so they follow the address: loopback means
// `lo` alone, any other of this machine its interface and the RDMA device on the same card, if
// there is one; 0.0.0.0 and :: mean all. For an address of another machine it is the interface that
// leads there. Resolves host names, so it may block. bad_address if the host is unknown or no route
// leads to it.
[[nodiscard]] Result<Devices> devices_for(const Address& address);

}  // namespace godwit::fabric::ucx
