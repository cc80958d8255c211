// A node in a process of its own, from its start until it serves.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::node {

// Nobody ends the process when this object goes: whoever started it decides how long it lives.
class StartingNode {
 public:
  struct Options {
    std::string executable;              // godwit
    std::vector<std::string> arguments;  // of `godwit node`
    std::filesystem::path log;           // where it logs: the end of it tells why it did not start
    // In a session of its own, with standard error at the end of `log`, so that it outlives the
    // terminal. Otherwise it shares this process's standard error.
    bool detached = false;
  };
  // Errors: resource_exhausted, io (the executable cannot be started).
  [[nodiscard]] static Result<StartingNode> start(Options options);

  // -1 once it has been waited for.
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  // Waits until the node says that it serves, and gives its addresses. Error: unreachable, with the
  // end of its log, if it ended (it has been waited for then) or if time is up (it still runs).
  [[nodiscard]] Result<std::vector<std::string>> wait_until_ready(std::chrono::milliseconds limit);
  // SIGKILL, unless it has ended, and waits for it.
  void kill();

 private:
  StartingNode(fabric::Fd output, std::filesystem::path log)
      : output_(std::move(output)), log_(std::move(log)) {}

  pid_t pid_ = -1;
  fabric::Fd output_;
  std::filesystem::path log_;
};

}  // namespace godwit::node
