// Processes that outlive the command that started them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::cli {

// A process, told apart from a later one with the same pid by when it started.
struct ProcessId {
  pid_t pid = -1;
  std::uint64_t start_ticks = 0;  // since boot, as the kernel counts
};

// Nothing if no such process runs; one that has ended but was not waited for does not.
[[nodiscard]] std::optional<ProcessId> identify(pid_t pid);
[[nodiscard]] bool is_running(const ProcessId& process);

// Ends them all: SIGTERM, then SIGKILL for those that are there after `grace`. Those that do not
// run any more are left alone, also if somebody else has their pid now. Error: internal if one
// survives even that.
[[nodiscard]] Status end_processes(const std::vector<ProcessId>& processes,
                                   std::chrono::milliseconds grace);

}  // namespace godwit::cli
