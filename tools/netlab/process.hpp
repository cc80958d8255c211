// A process inside a host.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "netlab/spawn.hpp"

namespace godwit::netlab {

struct RunOptions {
  std::vector<std::string> environment = {};  // NAME=value, beside or in place of the caller's
  int output_fd = -1;                         // its standard output; -1: the caller's
  int error_fd = -1;                          // its standard error; -1: the caller's
};

// Killed and waited for when this object ends, which has to be before its lab does. What the
// process started itself lives on in the host, and ends with that.
class Process {
 public:
  explicit Process(Spawned spawned) noexcept : spawned_(std::move(spawned)) {}
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  // As the caller sees it; the process itself has another one.
  [[nodiscard]] pid_t pid() const noexcept { return spawned_.pid; }
  void signal(int number) const;
  // Its exit code, or 128 + the signal that ended it. Error: deadline; it runs on then.
  [[nodiscard]] Result<int> wait(std::chrono::milliseconds limit);

 private:
  void end() noexcept;

  Spawned spawned_;
  std::optional<int> exit_code_;  // set: has ended and was waited for
};

}  // namespace godwit::netlab
