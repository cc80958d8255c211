// Starts a node that lives on after this process.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"
#include "process.hpp"

namespace godwit::cli {

class DetachedNode {
 public:
  // Starts this executable as `godwit node ARGUMENTS`, in a session of its own; what it prints
  // goes to the end of `log`.
  [[nodiscard]] static Result<DetachedNode> start(const std::vector<std::string>& arguments,
                                                  const std::filesystem::path& log);

  [[nodiscard]] const ProcessId& process() const noexcept { return process_; }
  // Waits until the node says that it serves, and where. Error: unreachable, with the end of its
  // log, if it ended or time is up; it may still run then.
  [[nodiscard]] Result<std::vector<std::string>> wait_until_ready(std::chrono::milliseconds limit);

 private:
  DetachedNode() = default;
  ProcessId process_;
  fabric::Fd output_;
  std::filesystem::path log_;
};

}  // namespace godwit::cli
