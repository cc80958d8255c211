#include "floors/pair.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/fail.hpp"
#include "base/write_all.hpp"
#include "floors/report.hpp"

namespace godwit::floors {
namespace {

void prepare_child(pid_t parent, unsigned limit_s, int core) {
  // The parent may have died between fork() and here: then nobody waits for this process.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(limit_s);
  if (core < 0) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  // A machine with fewer cores still gives a number; it is merely a worse one.
  (void)::sched_setaffinity(0, sizeof cores, &cores);
}

template <class Body>
Result<pid_t> fork_side(const RunOptions& run, int core, const Body& body) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorCode::resource_exhausted, "cannot fork a floor's process: {}",
                errno_text(errno));
  }
  if (child == 0) {
    prepare_child(parent, run.limit_s, core);
    ::_exit(body());
  }
  return child;
}

bool exited_cleanly(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The descriptors of one run; the parent closes its copies as soon as both children have theirs.
struct Descriptors {
  int client_end = -1;
  int server_end = -1;
  int report_read = -1;
  int report_write = -1;
  ~Descriptors() {
    for (const int fd : {client_end, server_end, report_read, report_write}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Status open() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return fail(ErrorCode::resource_exhausted, "socketpair: {}", errno_text(errno));
    }
    client_end = ends[0];
    server_end = ends[1];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return fail(ErrorCode::resource_exhausted, "pipe: {}", errno_text(errno));
    }
    report_read = ends[0];
    report_write = ends[1];
    return {};
  }
};

void close_and_forget(int& fd) {
  ::close(std::exchange(fd, -1));
}

int run_client(const Sides& sides, Descriptors& fds) {
  close_and_forget(fds.server_end);
  const Report report = Report::of(sides.client(fds.client_end));
  return send_all(fds.report_write, &report, sizeof report) ? 0 : 1;
}

int run_server(const Sides& sides, Descriptors& fds) {
  close_and_forget(fds.client_end);
  close_and_forget(fds.report_write);
  const Status status = sides.server(fds.server_end);
  if (!status) fmt::print(stderr, "floor server: {}\n", status.error().message);
  return status ? 0 : 1;
}

}  // namespace

Result<Sample> run_pair(const RunOptions& run, const Sides& sides) {
  Descriptors fds;
  GODWIT_CHECK(fds.open());
  std::fflush(nullptr);  // else both children would print what is buffered here
  GODWIT_TRY(const pid_t server,
             fork_side(run, run.server_core, [&] { return run_server(sides, fds); }));
  const auto client = fork_side(run, run.client_core, [&] { return run_client(sides, fds); });
  close_and_forget(fds.client_end);
  close_and_forget(fds.server_end);
  close_and_forget(fds.report_write);
  if (!client) {
    ::kill(server, SIGKILL);
    (void)exited_cleanly(server);
    return tl::unexpected(client.error());
  }
  Report report;
  const Status reported = receive_all(fds.report_read, &report, sizeof report);
  const bool client_ok = exited_cleanly(*client);
  const bool server_ok = exited_cleanly(server);
  if (!reported || !client_ok || !server_ok) {
    return fail(
        ErrorCode::internal,
        "a floor's {} process failed or ran past its limit of {} s; run it alone, with more "
        "time",
        server_ok ? "client" : "server", run.limit_s);
  }
  return report.result();
}

Status send_all(int fd, const void* data, std::size_t size) {
  if (write_all(fd, {static_cast<const std::byte*>(data), size})) return {};
  return fail(ErrorCode::io, "write to a floor's peer: {}", errno_text(errno));
}

Status receive_all(int fd, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::io, "read from a floor's peer: {}", errno_text(errno));
    if (got == 0) return fail(ErrorCode::io, "a floor's peer left early");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

bool peer_is_done(int fd) noexcept {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

}  // namespace godwit::floors
