// Child processes that end: run a program, collect what it says, kill it when it takes too long.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::code {

// What is kept of a program's output; the rest is read and dropped.
inline constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 20;

struct ProcessResult {
  int exit_code = 0;   // 128 + signal if a signal ended it
  std::string output;  // stdout
  std::string errors;  // stderr
};

// Starts argv[0] (searched in PATH unless it has a '/') with exactly these arguments: no shell is
// involved. Blocks until it ends. Errors: not_found (no such program), deadline (killed after
// `timeout`), io.
[[nodiscard]] Result<ProcessResult> run_process(const std::vector<std::string>& argv,
                                                std::chrono::milliseconds timeout);

// The command as a person would type it, for messages.
[[nodiscard]] std::string command_line(const std::vector<std::string>& argv);

}  // namespace godwit::code
