#include "ref/wire.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "floors/sample.hpp"

namespace godwit::bench {
namespace {

constexpr int kPatienceMs = 30'000;

Status wait_until_readable(int fd, Waiting waiting) {
  const std::uint64_t until_ns = floors::now_ns() + std::uint64_t{kPatienceMs} * 1'000'000;
  pollfd look{fd, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&look, 1, waiting == Waiting::poll ? 0 : kPatienceMs);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) {
      return fail(ErrorCode::io, "poll of the other side: {}", errno_text(errno));
    }
    if (floors::now_ns() > until_ns) {
      return fail(ErrorCode::deadline, "the other side said nothing for {} ms", kPatienceMs);
    }
    if (waiting == Waiting::poll) ::sched_yield();
  }
}

}  // namespace

Status send_bytes(int fd, const void* data, std::size_t size) {
  if (write_all(fd, {static_cast<const std::byte*>(data), size})) return {};
  return fail(ErrorCode::io, "write to the other side: {}", errno_text(errno));
}

// A sleeping read blocks in the kernel at once: poll() before it would cost another wake-up's worth
// of time. The far side ends with the near one, so that it ends, too.
Status receive_bytes(int fd, void* data, std::size_t size, Waiting waiting) {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    if (waiting == Waiting::poll) GODWIT_CHECK(wait_until_readable(fd, waiting));
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::io, "read from the other side: {}", errno_text(errno));
    if (got == 0) return fail(ErrorCode::io, "the other side left early");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

MemoryUse memory_of(int pid) {
  MemoryUse use;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    const auto read = [&](const char* name, std::uint64_t& to) {
      if (line.starts_with(name)) to = std::stoull(line.substr(line.find(':') + 1)) << 10U;
    };
    read("VmHWM:", use.peak_bytes);
    read("RssAnon:", use.own_bytes);
    read("RssShmem:", use.shared_bytes);
  }
  return use;
}

}  // namespace godwit::bench
