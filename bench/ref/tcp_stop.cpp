#include "ref/tcp_stop.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "base/write_all.hpp"

namespace godwit::bench {
namespace {

// As much as a home's answers have, and less than what leaves the cache.
constexpr std::size_t kAtATime = 1'000'000;

// In the child of a process with threads: system calls alone.
[[noreturn]] void pass_on(int from, int onward, std::vector<std::byte>& memory) {
  for (;;) {
    const ssize_t got = ::read(from, memory.data(), memory.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(0);
    if (!write_all(onward, {memory.data(), static_cast<std::size_t>(got)})) ::_exit(1);
  }
}

}  // namespace

Result<TcpStop> TcpStop::start(int onward) {
  const fabric::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  fabric::Fd mine(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0 ||
      ::connect(mine.get(), generic, size) != 0) {
    return fail(ErrorCode::io, "no connection to a process that passes on: {}", errno_text(errno));
  }
  const fabric::Fd theirs(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!theirs) {
    return fail(ErrorCode::io, "no connection to a process that passes on: {}", errno_text(errno));
  }
  const int on = 1;
  (void)::setsockopt(mine.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<std::byte> memory(kAtATime);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(ErrorCode::resource_exhausted, "no process to pass on: {}", errno_text(errno));
  }
  if (pid == 0) {
    ::close(mine.get());  // else it would never see the end
    pass_on(theirs.get(), onward, memory);
  }
  return TcpStop(pid, std::move(mine));
}

TcpStop::TcpStop(TcpStop&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), fd_(std::move(other.fd_)) {}

TcpStop::~TcpStop() {
  if (pid_ < 0) return;
  fd_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace godwit::bench
