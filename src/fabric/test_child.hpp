// Other processes, for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>
#include <vector>

#include "fabric/control/ancillary.hpp"
#include "fabric/fd.hpp"

namespace godwit::fabric {

// A child process that runs `body` and exits; killed and reaped with its owner.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    ::_exit(0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { kill(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  void wait() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

// Two ends, of which each process keeps one: descriptors one way, and the end of either.
class DescriptorPipe {
 public:
  DescriptorPipe() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    parent_ = Fd(ends[0]);
    child_ = Fd(ends[1]);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  // The child's.
  void send(const std::vector<Fd>& descriptors) {
    parent_.reset();
    const char byte = 'd';
    std::size_t sent = 0;
    if (send_with_fds(child_.get(), bytes_of({&byte, 1}), descriptors, sent) != 0) ::_exit(3);
  }
  // The parent's. Empty: the child ended first.
  [[nodiscard]] std::vector<Fd> receive() {
    child_.reset();
    std::vector<Fd> descriptors;
    std::byte byte{};
    std::size_t received = 0;
    (void)!::recv(parent_.get(), &byte, 1, MSG_PEEK);  // waits
    EXPECT_EQ(receive_with_fds(parent_.get(), {&byte, 1}, descriptors, received), 0);
    return descriptors;
  }
  // The parent's: returns when no process has the child's end any more.
  void wait_for_end() {
    std::byte byte{};
    EXPECT_EQ(::recv(parent_.get(), &byte, 1, 0), 0);
  }

 private:
  Fd parent_;
  Fd child_;
};

}  // namespace godwit::fabric
