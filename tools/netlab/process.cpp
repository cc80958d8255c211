#include "netlab/process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/fail.hpp"

namespace godwit::netlab {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Process::Process(Process&& other) noexcept
    : spawned_(std::exchange(other.spawned_, {})), exit_code_(other.exit_code_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    end();
    spawned_ = std::exchange(other.spawned_, {});
    exit_code_ = other.exit_code_;
  }
  return *this;
}

Process::~Process() {
  end();
}

void Process::end() noexcept {
  if (spawned_.pid <= 0 || exit_code_) return;
  kill_and_reap(spawned_.pid, spawned_.pidfd.get());
}

void Process::signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, spawned_.pidfd.get(), number, nullptr, 0);
}

Result<int> Process::wait(milliseconds limit) {
  if (exit_code_) return *exit_code_;
  const auto until = steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd wait{spawned_.pidfd.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready > 0) break;
    if (ready < 0 && errno == EINTR) continue;
    return fail(ErrorCode::deadline, "process {} has not ended within {} ms", spawned_.pid,
                limit.count());
  }
  int status = 0;
  while (::waitpid(spawned_.pid, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return fail(ErrorCode::internal, "cannot wait for process {}: {}; somebody else did",
                spawned_.pid, errno_text(errno));
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *exit_code_;
}

}  // namespace godwit::netlab
