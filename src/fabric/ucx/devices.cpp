#include "fabric/ucx/devices.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/fail.hpp"
#include "fabric/fd.hpp"

namespace godwit::fabric::ucx {
namespace {

constexpr const char* kTcp = "tcp";
constexpr const char* kTcpAndRdma = "rc,ud,dc,tcp";

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
using InterfaceList = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

Result<AddressList> resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::unreachable, "cannot resolve host '{}': {}; check the name",
                address.host, ::gai_strerror(error));
  }
  return AddressList(found, &::freeaddrinfo);
}

bool same_host(const sockaddr* a, const sockaddr* b) {
  if (a == nullptr || b == nullptr || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in*>(a)->sin_addr,
                       &reinterpret_cast<const sockaddr_in*>(b)->sin_addr, sizeof(in_addr)) == 0;
  }
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr, sizeof(in6_addr)) == 0;
}

bool is_any(const sockaddr* a) {
  if (a->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr == INADDR_ANY;
  }
  return a->sa_family == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Names of the RDMA devices that sit on the same card as the interface; with an empty name, of all.
std::string rdma_devices(const std::string& interface) {
  std::string names;
  std::error_code ignored;
  for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", ignored)) {
    if (!interface.empty() && !is_there(device.path() / "device/net" / interface)) continue;
    names += fmt::format(",{}:1", device.path().filename().string());
  }
  return names;
}

// The interface that has the address; empty if none does.
std::string interface_with(const ifaddrs* first, const sockaddr* address) {
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (same_host(at->ifa_addr, address)) return at->ifa_name;
  }
  return {};
}

// The interface packets to the address leave by; connecting a datagram socket sends none.
std::string interface_towards(const ifaddrs* first, const addrinfo& to) {
  const Fd probe(::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  auto* const generic = reinterpret_cast<sockaddr*>(&local);
  sockaddr_storage target{};
  std::memcpy(&target, to.ai_addr, to.ai_addrlen);
  // Port 0 cannot be connected to; which one it is does not matter to the route.
  if (to.ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(&target)->sin_port = htons(9);
  if (to.ai_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&target)->sin6_port = htons(9);
  if (!probe ||
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&target), to.ai_addrlen) != 0 ||
      ::getsockname(probe.get(), generic, &size) != 0) {
    return {};
  }
  return interface_with(first, generic);
}

Devices on_interface(const std::string& name) {
  const std::string rdma = rdma_devices(name);
  return {.tls = rdma.empty() ? kTcp : kTcpAndRdma, .net = name + rdma};
}

}  // namespace

Result<Devices> devices_for(const Address& address) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return fail(ErrorCode::resource_exhausted, "cannot list this machine's interfaces: {}",
                errno_text(errno));
  }
  const InterfaceList interfaces(first, &::freeifaddrs);
  if (address.is_loopback()) {
    // 127.0.0.0/8 all lives on one interface, which carries 127.0.0.1 only.
    for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
      if ((at->ifa_flags & IFF_LOOPBACK) != 0) return Devices{.tls = kTcp, .net = at->ifa_name};
    }
    return fail(ErrorCode::bad_address, "{}: this machine has no loopback interface",
                address.to_string());
  }
  GODWIT_TRY(const AddressList wanted, resolve(address));
  for (const addrinfo* candidate = wanted.get(); candidate != nullptr;
       candidate = candidate->ai_next) {
    if (is_any(candidate->ai_addr)) {
      return Devices{.tls = rdma_devices("").empty() ? kTcp : kTcpAndRdma, .net = "all"};
    }
    std::string name = interface_with(first, candidate->ai_addr);
    if (name.empty()) name = interface_towards(first, *candidate);
    if (!name.empty()) return on_interface(name);
  }
  return fail(
      ErrorCode::bad_address,
      "{}: no interface of this machine has that address or leads to it; check the address and "
      "the routes",
      address.to_string());
}

}  // namespace godwit::fabric::ucx
