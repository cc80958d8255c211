// Starts processes in other namespaces than the caller's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::netlab {

// What a new process was doing when it failed.
enum class Step : int {
  begin,
  make_namespaces,
  map_user,
  join_namespaces,
  fork,
  mount_proc,
  mount_sys,
  open_tun,
  make_tun,
  set_address,
  enter_folder,
  execute,
};

struct Trouble {
  Step step = Step::begin;
  int error_number = 0;
};

// The new process's word to the one that started it. Closed by exec; a process that does not exec
// closes it when it has got so far that nothing of its start can fail any more.
class Reporter {
 public:
  explicit Reporter(fabric::Fd socket) : socket_(std::move(socket)) {}
  void failed(Trouble trouble) const;
  void born(pid_t pid) const;
  // Gives the starter a copy of the descriptor.
  void hand_over(int fd) const;
  void close() { socket_.reset(); }

 private:
  fabric::Fd socket_;
};

struct Spawning {
  // Enters or makes namespaces, in a process of its own that has one thread.
  std::function<std::optional<Trouble>()> enter;
  // Runs in the new process; what it returns is the exit code.
  std::function<int(Reporter&)> live;
};

struct Spawned {
  pid_t pid = -1;  // in the caller's PID namespace, and the caller's child to wait for
  fabric::Fd pidfd;
  fabric::Fd descriptor;  // that the process handed over, if it did
};

// Returns when the process has closed its report. Error: unsupported if this machine does not let
// us do it, with what to do about it; not_found or permission if a program cannot be executed.
[[nodiscard]] Result<Spawned> spawn(const Spawning& what);

// A failure of any of the steps, in words.
[[nodiscard]] Error error_of(Trouble trouble);

// Kills a child of ours and waits for its end, for some seconds at most: a PID namespace's first
// process ends after all the others.
void kill_and_reap(pid_t pid, int pidfd);

}  // namespace godwit::netlab
