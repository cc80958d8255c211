// The program itself, run as a person runs it.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace godwit::graph {

struct Ended {
  int exit = -1;
  std::string output;  // both streams
};

// Words for a shell, which may follow commands for it: "D=/tmp;".
inline Ended run_graph(const std::string& words, const std::string& before = "") {
  const std::string line =
      fmt::format("{} exec '{}' {} 2>&1 </dev/null", before, GRAPH_EXECUTABLE, words);
  Ended ended;
  std::FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  while (const std::size_t bytes = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    ended.output.append(buffer, bytes);
  }
  const int status = ::pclose(pipe);
  ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace godwit::graph
