#include "process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "base/fail.hpp"

namespace godwit::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kKillLimit{5000};

// Holds on to one process: signals cannot hit another that got its pid.
class Handle {
 public:
  static std::optional<Handle> open(const ProcessId& process) {
    fabric::Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!fd || !is_running(process)) return std::nullopt;
    return Handle(std::move(fd), process.pid);
  }
  void signal(int number) const { ::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0); }
  [[nodiscard]] bool ended_by(steady_clock::time_point until) const {
    while (true) {
      const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
      pollfd wait{fd_.get(), POLLIN, 0};
      const int ready = ::poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Handle(fabric::Fd fd, pid_t pid) : fd_(std::move(fd)), pid_(pid) {}
  fabric::Fd fd_;
  pid_t pid_;
};

}  // namespace

std::optional<ProcessId> identify(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name, in parentheses, may contain anything; what follows is words, counted from 3.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(name_end + 1));
  std::string state;
  words >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  constexpr int kState = 3;
  constexpr int kStartTime = 22;
  std::string skipped;
  for (int word = kState + 1; word < kStartTime; ++word) words >> skipped;
  ProcessId process{.pid = pid};
  if (!(words >> process.start_ticks)) return std::nullopt;
  return process;
}

bool is_running(const ProcessId& process) {
  const auto found = identify(process.pid);
  return found && found->start_ticks == process.start_ticks;
}

Status end_processes(const std::vector<ProcessId>& processes, milliseconds grace) {
  std::vector<Handle> handles;
  for (const ProcessId& process : processes) {
    if (auto handle = Handle::open(process)) handles.push_back(*std::move(handle));
  }
  for (const Handle& handle : handles) handle.signal(SIGTERM);
  const auto until = steady_clock::now() + grace;
  std::vector<const Handle*> left;
  for (const Handle& handle : handles) {
    if (!handle.ended_by(until)) left.push_back(&handle);
  }
  for (const Handle* handle : left) handle->signal(SIGKILL);
  for (const Handle* handle : left) {
    if (!handle->ended_by(steady_clock::now() + kKillLimit)) {
      return fail(ErrorCode::internal, "process {} does not end, not even by SIGKILL",
                  handle->pid());
    }
  }
  return {};
}

}  // namespace godwit::cli
