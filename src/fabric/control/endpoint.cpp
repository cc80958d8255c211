#include "fabric/control/endpoint.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/fail.hpp"

namespace godwit::fabric {

Result<SocketAddress> unix_address(const Address& address) {
  if (address.host.size() > kMaxSocketPath)
    return fail(ErrorCode::bad_address,
                "socket path '{}' has {} characters, and the system allows {}; choose a shorter "
                "directory (for example under /tmp or /run)",
                address.host, address.host.size(), kMaxSocketPath);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.host.data(), address.host.size());
  SocketAddress result;
  std::memcpy(&result.storage, &name, sizeof name);
  result.size = sizeof name;
  return result;
}

Result<std::vector<SocketAddress>> resolve_tcp(const Address& address, bool numeric_only) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (numeric_only ? AI_NUMERICHOST : 0);
  addrinfo* found = nullptr;
  const int rc =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (rc == EAI_NONAME && numeric_only)
    return fail(ErrorCode::bad_address, "'{}' is not a numeric address", address.host);
  if (rc != 0)
    return fail(ErrorCode::unreachable, "cannot resolve host '{}': {}; check the name",
                address.host, ::gai_strerror(rc));
  std::vector<SocketAddress> results;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress& result = results.emplace_back();
    std::memcpy(&result.storage, info->ai_addr, info->ai_addrlen);
    result.size = info->ai_addrlen;
  }
  ::freeaddrinfo(found);
  return results;
}

Result<Fd> open_socket(const SocketAddress& address) {
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    return fail(ErrorCode::resource_exhausted, "cannot create a socket: {}", errno_text(errno));
  if (address.storage.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return fd;
}

}  // namespace godwit::fabric
