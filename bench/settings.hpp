// What every suite is told.
#pragma once

#include <cstddef>
#include <cstdint>

#include "floors/fork_server.hpp"

namespace godwit::bench {

struct Settings {
  // Time for each suite's rounds; at least kMinRounds of each are run, whatever they take.
  double seconds = 20;
  bool quick = false;  // fewer calls per round
  int client_core = 0;
  int node_core = 1;
};

// Polling rows: neither side sleeps while calls come, and both do while a floor is measured.
inline constexpr std::int64_t kPollingSpinUs = 5'000;
inline constexpr std::int64_t kDefaultSpinUs = 50;

// Runs the calling thread, and what it starts from now on, on that core; -1: on any.
void run_on_core(int core) noexcept;
// The same for all threads that this process has.
void run_process_on_core(int core);

}  // namespace godwit::bench
