#include "code/toolchain/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fail.hpp"
#include "fabric/fd.hpp"

extern "C" char** environ;

namespace godwit::code {
namespace {

using Clock = std::chrono::steady_clock;
using fabric::Fd;

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::io, "cannot make a pipe: {}", errno_text(errno));
  }
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

// In a process group of its own, so that a compiler's children are killed with it.
Result<pid_t> spawn(const std::vector<std::string>& argv, int out_fd, int err_fd) {
  std::vector<char*> raw;
  for (const std::string& argument : argv) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err_fd, STDERR_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int error_number = ::posix_spawnp(&pid, raw[0], &actions, &attributes, raw.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error_number == ENOENT) {
    return fail(ErrorCode::not_found, "the program '{}' is not installed", argv[0]);
  }
  if (error_number != 0) {
    return fail(ErrorCode::io, "cannot start '{}': {}", argv[0], errno_text(error_number));
  }
  return pid;
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

// Takes what is there; closes the pipe at its end.
void drain(Fd& pipe, std::string& text) {
  std::array<char, 16384> chunk;
  const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    pipe.reset();
    return;
  }
  const std::size_t room = kMaxOutputBytes - text.size();
  text.append(chunk.data(), std::min(room, static_cast<std::size_t>(got)));
}

// Until both pipes are at their end and the child has exited; false at the deadline.
bool collect(int pidfd, Fd& out, Fd& err, ProcessResult& result, Clock::time_point deadline) {
  bool exited = false;
  while (out.get() >= 0 || err.get() >= 0 || !exited) {
    std::array<pollfd, 3> polled = {pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0},
                                    pollfd{exited ? -1 : pidfd, POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (polled[0].revents != 0) drain(out, result.output);
    if (polled[1].revents != 0) drain(err, result.errors);
    if (polled[2].revents != 0) exited = true;
  }
  return true;
}

}  // namespace

std::string command_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& argument : argv) {
    if (!line.empty()) line += ' ';
    const bool plain =
        !argument.empty() && argument.find_first_of(" \t\n'\"\\$`*?;&|<>()") == std::string::npos;
    line += plain ? argument : "'" + argument + "'";
  }
  return line;
}

Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                  std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  GODWIT_TRY(Pipe out, make_pipe());
  GODWIT_TRY(Pipe err, make_pipe());
  GODWIT_TRY(const pid_t pid, spawn(argv, out.write_end.get(), err.write_end.get()));
  out.write_end.reset();
  err.write_end.reset();

  // glibc 2.36 declares its wrapper without C linkage, so C++ cannot link it.
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ProcessResult result;
  const bool ended =
      pidfd.get() >= 0 && collect(pidfd.get(), out.read_end, err.read_end, result, deadline);
  if (!ended) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return fail(ErrorCode::deadline, "'{}' was killed: it had not ended after {} ms", argv[0],
                timeout.count());
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace godwit::code
