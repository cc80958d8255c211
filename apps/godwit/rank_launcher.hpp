// Starts the processes that are the ranks of a program, and sees them to their end.
#pragma once

#include <string>
#include <vector>

#include "exit.hpp"
#include "godwit/kernel.hpp"

namespace godwit::cli {

struct LaunchOptions {
  Rank ranks = 1;
  std::vector<std::string> program;  // and its arguments
  bool label = false;                // every line of output begins with its rank
  int restarts = 0;                  // how often all are started again after one was lost
};

// Returns when all have ended. They meet in a folder of their own, which is gone then. Rank 0 reads
// this process's input, the others read nothing. SIGINT and SIGTERM are passed on. When one fails
// the others are told to end, and killed if they do not. If a signal that nobody here sent ended
// it, or it ended with kExitNodeLost, all are started again, in another folder, and a line says so.
// Error: the first failure of the last time; its exit code is that rank's, or 128 and the number of
// the signal that ended it.
[[nodiscard]] Ended launch_ranks(const LaunchOptions& options);

}  // namespace godwit::cli
