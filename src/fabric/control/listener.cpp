#include "fabric/control/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "fabric/control/endpoint.hpp"

namespace godwit::fabric {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptsPerTurn = 16;
constexpr int kLockAttempts = 1000;  // of a millisecond each
// Out of descriptors: the connection stays in the backlog, and we look again after this.
constexpr Duration kRetryAccept = std::chrono::milliseconds(50);

Status cannot_listen(const Address& address, int error) {
  const auto code = error == EADDRINUSE                         ? ErrorCode::address_in_use
                    : error == EACCES || error == EPERM         ? ErrorCode::permission
                    : error == EADDRNOTAVAIL || error == ENOENT ? ErrorCode::bad_address
                                                                : ErrorCode::io;
  return fail(code, "cannot listen at {}: {}{}", address.to_string(), errno_text(error),
              error == EADDRINUSE ? "; choose another address or stop the other process"
              : error == ENOENT   ? "; create the directory first"
                                  : "");
}

bool somebody_answers(const SocketAddress& name) {
  auto probe = open_socket(name);
  // EAGAIN: alive, its backlog is full.
  return probe && (::connect(probe->get(), name.get(), name.size) == 0 || errno == EAGAIN);
}

// Serialises those who find the same stale file: without it, the second would remove the first
// one's new socket. A name in the abstract namespace is a lock that leaves nothing behind; locking
// the directory would collide with whoever owns it.
Result<Fd> lock_path_of(const Address& address) {
  const std::string name = "godwit-listen-" + ContentId::of(bytes_of(address.host)).short_hex();
  sockaddr_un lock{};
  lock.sun_family = AF_UNIX;
  std::memcpy(lock.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Fd held(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!held) return tl::unexpected(cannot_listen(address, errno).error());
  const timespec pause{0, 1'000'000};
  for (int i = 0; ::bind(held.get(), reinterpret_cast<const sockaddr*>(&lock), size) != 0; ++i) {
    if (errno != EADDRINUSE || i == kLockAttempts) {
      return tl::unexpected(cannot_listen(address, errno).error());
    }
    ::nanosleep(&pause, nullptr);
  }
  return held;
}

Status bind_unix(int fd, const Address& address, const SocketAddress& name) {
  if (::bind(fd, name.get(), name.size) == 0) return {};
  if (errno != EADDRINUSE) return cannot_listen(address, errno);
  struct stat info{};
  if (::lstat(address.host.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
    return fail(ErrorCode::address_in_use,
                "cannot listen at {}: a file that is not a socket is there; remove or rename it",
                address.to_string());
  if (somebody_answers(name)) return cannot_listen(address, EADDRINUSE);
  ::unlink(address.host.c_str());
  if (::bind(fd, name.get(), name.size) != 0) return cannot_listen(address, errno);
  return {};
}

std::uint16_t bound_port(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  in_port_t port = 0;
  if (storage.ss_family == AF_INET6) {
    port = reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port;
  } else {
    port = reinterpret_cast<const sockaddr_in*>(&storage)->sin_port;
  }
  return ntohs(port);
}

}  // namespace

ControlListener::ControlListener(Reactor& reactor, Address address, OnAccept on_accept)
    : reactor_(reactor), address_(std::move(address)), on_accept_(std::move(on_accept)) {}

Result<std::unique_ptr<ControlListener>> ControlListener::listen(Reactor& reactor,
                                                                 const Address& address,
                                                                 OnAccept on_accept) {
  std::unique_ptr<ControlListener> listener(
      new ControlListener(reactor, address, std::move(on_accept)));
  if (address.scheme == Address::Scheme::shm) {
    GODWIT_CHECK(listener->bind_path());
  } else if (address.scheme == Address::Scheme::tcp) {
    GODWIT_CHECK(listener->bind_port());
  } else {
    return fail(ErrorCode::bad_address, "no socket listens at {}", address.to_string());
  }
  if (::listen(listener->fd_.get(), kBacklog) != 0)
    return tl::unexpected(cannot_listen(address, errno).error());
  GODWIT_CHECK(reactor.watch(listener->fd_.get(), EPOLLIN, *listener));
  return listener;
}

Status ControlListener::bind_path() {
  GODWIT_TRY(const SocketAddress name, unix_address(address_));
  GODWIT_TRY(fd_, open_socket(name));
  GODWIT_TRY(const Fd lock, lock_path_of(address_));
  GODWIT_CHECK(bind_unix(fd_.get(), address_, name));
  // Between bind() and listen() the socket refuses connections and would look stale.
  if (::listen(fd_.get(), kBacklog) != 0) return cannot_listen(address_, errno);
  struct stat info{};
  if (::stat(address_.host.c_str(), &info) == 0) inode_ = info.st_ino;
  return {};
}

Status ControlListener::bind_port() {
  GODWIT_TRY(const auto names, resolve_tcp(address_, false));
  if (names.empty()) return cannot_listen(address_, EADDRNOTAVAIL);
  GODWIT_TRY(fd_, open_socket(names.front()));
  const int on = 1;
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd_.get(), names.front().get(), names.front().size) != 0)
    return cannot_listen(address_, errno);
  address_.port = bound_port(fd_.get());
  return {};
}

ControlListener::~ControlListener() {
  reactor_.cancel(resume_timer_);
  reactor_.unwatch(fd_.get());
  struct stat info{};
  if (inode_ != 0 && ::stat(address_.host.c_str(), &info) == 0 && info.st_ino == inode_)
    ::unlink(address_.host.c_str());
}

void ControlListener::on_fd(std::uint32_t) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) pause();
      return;
    }
    if (address_.scheme == Address::Scheme::tcp) {
      const int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    auto socket = ControlSocket::adopt(reactor_, std::move(fd),
                                       "a client of " + address_.to_string(), nullptr);
    if (socket) on_accept_(*std::move(socket));
  }
}

// The listening socket stays readable while the process is out of descriptors: without a pause the
// reactor would spin on it.
void ControlListener::pause() {
  if (!reactor_.rewatch(fd_.get(), 0)) return;
  resume_timer_ = reactor_.post_at(reactor_.now() + kRetryAccept, [this] {
    if (!reactor_.rewatch(fd_.get(), EPOLLIN)) pause();
  });
}

}  // namespace godwit::fabric
