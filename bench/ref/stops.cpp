#include "ref/stops.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "settings.hpp"

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

// A child that does so, on that core if one is named. It closes `ours`, else it would never see the
// end.
Result<pid_t> start_passing(int from, int onward, int ours, std::optional<int> core) {
  std::vector<std::byte> memory(kAtATime);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(ErrorCode::resource_exhausted, "no process to pass on: {}", errno_text(errno));
  }
  if (pid > 0) return pid;
  ::close(ours);
  if (core) run_on_core(*core);
  pass_on(from, onward, memory);
}

struct Ends {
  fabric::Fd in, out;
};
Result<Ends> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    return fail(ErrorCode::resource_exhausted, "no pipe: {}", errno_text(errno));
  }
  return Ends{fabric::Fd(fds[0]), fabric::Fd(fds[1])};
}

struct PassingWay {
  int notices;
  int returns;
  int onward;
};
[[noreturn]] void pass_on_kept(std::span<const std::byte> memory, std::size_t size,
                               PassingWay way) {
  for (std::size_t at = 0;; at = at + size == memory.size() ? 0 : at + size) {
    std::byte one;
    ssize_t got = 0;
    while ((got = ::read(way.notices, &one, 1)) < 0 && errno == EINTR) {
    }
    if (got <= 0) ::_exit(0);
    if (!write_all(way.onward, memory.subspan(at, size)) || !write_all(way.returns, {&one, 1})) {
      ::_exit(1);
    }
  }
}

}  // namespace

Result<Stop> Stop::by_tcp(int onward) {
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
  GODWIT_TRY(const pid_t pid, start_passing(theirs.get(), onward, mine.get(), std::nullopt));
  return Stop(pid, std::move(mine));
}

Result<Stop> Stop::by_pipe(int onward, int core) {
  GODWIT_TRY(Ends ends, make_pipe());
  GODWIT_TRY(const pid_t pid, start_passing(ends.in.get(), onward, ends.out.get(), core));
  return Stop(pid, std::move(ends.out));
}

Passer::~Passer() {
  if (pid_ < 0) return;
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<KeepingStop> KeepingStop::start(int onward, std::size_t size) {
  const auto slots = static_cast<std::uint32_t>(std::max<std::size_t>(kKept / size, 1));
  GODWIT_TRY(Ends notices, make_pipe());
  GODWIT_TRY(Ends returns, make_pipe());
  void* const memory = ::mmap(nullptr, slots * size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::resource_exhausted, "no memory of {} bytes: {}", slots * size,
                errno_text(errno));
  }
  auto* const bytes = static_cast<std::byte*>(memory);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(notices.out.get());  // else it would never see the end
    pass_on_kept({bytes, slots * size}, size, {notices.in.get(), returns.out.get(), onward});
  }
  KeepingStop stop(pid, bytes, size, slots);
  if (pid < 0) {
    return fail(ErrorCode::resource_exhausted, "no process to pass on: {}", errno_text(errno));
  }
  stop.notices_ = std::move(notices.out);
  stop.returns_ = std::move(returns.in);
  return stop;
}

Status KeepingStop::send(std::span<const std::byte> item) {
  while (free_ == 0) {
    std::byte many[256];
    const ssize_t got = ::read(returns_.get(), many, sizeof many);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(ErrorCode::io, "the process that passes on has ended");
    free_ += static_cast<std::uint32_t>(got);
  }
  std::memcpy(memory_ + std::size_t{next_} * size_, item.data(), item.size());
  next_ = (next_ + 1) % slots_;
  --free_;
  constexpr std::byte kOne{1};
  if (!write_all(notices_.get(), {&kOne, 1})) {
    return fail(ErrorCode::io, "the process that passes on has ended");
  }
  return {};
}

KeepingStop::KeepingStop(KeepingStop&& other) noexcept
    : passer_(std::move(other.passer_)),
      memory_(std::exchange(other.memory_, nullptr)),
      notices_(std::move(other.notices_)),
      returns_(std::move(other.returns_)),
      size_(other.size_),
      free_(other.free_),
      slots_(other.slots_),
      next_(other.next_) {}

KeepingStop::~KeepingStop() {
  if (memory_ != nullptr) ::munmap(memory_, slots_ * size_);
}

}  // namespace godwit::bench
