#include "netlab/spawn.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::netlab {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kStartLimit{10'000};
constexpr milliseconds kEndLimit{10'000};

enum class Word : int { failed, born, descriptor };

struct Report {
  Word word = Word::failed;
  int value = 0;  // errno, or a pid
  Step step = Step::begin;
};

void send(int socket, const Report& report, int fd = -1) {
  Report copy = report;
  iovec part{.iov_base = &copy, .iov_len = sizeof copy};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  (void)::sendmsg(socket, &message, MSG_NOSIGNAL);  // a starter that is gone will not miss it
}

struct Heard {
  Report report;
  fabric::Fd descriptor;
};

// The next report; nothing at the end of them.
std::optional<Heard> receive(int socket) {
  Heard heard;
  iovec part{.iov_base = &heard.report, .iov_len = sizeof heard.report};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size != sizeof heard.report) return std::nullopt;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    heard.descriptor = fabric::Fd(fd);
  }
  return heard;
}

bool readable_within(int fd, milliseconds limit) {
  const auto until = steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd wait{fd, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The process between: in the new namespaces, but for the PID namespace, which only its children
// enter. CLONE_PARENT makes them the starter's, who can wait for them when this one is gone.
[[noreturn]] void enter_and_fork(const Spawning& what, Reporter reporter) {
  if (const auto trouble = what.enter()) {
    reporter.failed(*trouble);
    ::_exit(1);
  }
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
  if (pid == 0) ::_exit(what.live(reporter));
  if (pid < 0) {
    reporter.failed({Step::fork, errno});
    ::_exit(1);
  }
  reporter.born(pid);
  ::_exit(0);
}

// Collects the reports until the new process has closed its end.
Status listen(int socket, Spawned& spawned) {
  std::optional<Trouble> trouble;
  while (readable_within(socket, kStartLimit)) {
    auto heard = receive(socket);
    if (!heard) {
      if (trouble) return tl::unexpected(error_of(*trouble));
      if (spawned.pid > 0) return {};
      return fail(ErrorCode::internal, "a process that was to enter a host ended without a word");
    }
    switch (heard->report.word) {
      case Word::failed: trouble = Trouble{heard->report.step, heard->report.value}; break;
      case Word::born: spawned.pid = heard->report.value; break;
      case Word::descriptor: spawned.descriptor = std::move(heard->descriptor); break;
    }
  }
  return fail(ErrorCode::deadline, "a process of a host did not start within {} ms",
              kStartLimit.count());
}

}  // namespace

void Reporter::failed(Trouble trouble) const {
  send(socket_.get(), {Word::failed, trouble.error_number, trouble.step});
}

void Reporter::born(pid_t pid) const {
  send(socket_.get(), {Word::born, pid, Step::begin});
}

void Reporter::hand_over(int fd) const {
  send(socket_.get(), {Word::descriptor, 0, Step::begin}, fd);
}

Result<Spawned> spawn(const Spawning& what) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::resource_exhausted, "cannot make a socket pair: {}", errno_text(errno));
  }
  fabric::Fd ours(ends[0]);
  fabric::Fd theirs(ends[1]);
  const pid_t between = ::fork();
  if (between < 0) {
    return fail(ErrorCode::resource_exhausted, "cannot fork: {}", errno_text(errno));
  }
  if (between == 0) {
    ours.reset();
    enter_and_fork(what, Reporter(std::move(theirs)));
  }
  theirs.reset();
  Spawned spawned;
  Status started = listen(ours.get(), spawned);
  ::kill(between, SIGKILL);  // it has nothing left to do, or hangs
  reap(between);
  if (spawned.pid > 0) {
    spawned.pidfd = fabric::Fd(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  }
  if (!started) {
    if (spawned.pid > 0) kill_and_reap(spawned.pid, spawned.pidfd.get());
    return tl::unexpected(std::move(started).error());
  }
  return spawned;
}

void kill_and_reap(pid_t pid, int pidfd) {
  ::kill(pid, SIGKILL);
  if (pidfd < 0 || readable_within(pidfd, kEndLimit)) reap(pid);
}

}  // namespace godwit::netlab
