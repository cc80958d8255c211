#include "settings.hpp"

#include <sched.h>

#include <cstdlib>
#include <filesystem>

namespace godwit::bench {
namespace {

// A machine with fewer cores still gives a number; it is merely a worse one. 0: the calling thread.
void run_thread_on_core(pid_t thread, int core) noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (core < 0 || i == static_cast<std::size_t>(core)) CPU_SET(i, &cores);
  }
  (void)::sched_setaffinity(thread, sizeof cores, &cores);
}

}  // namespace

void run_on_core(int core) noexcept {
  run_thread_on_core(0, core);
}

void run_process_on_core(int core) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    run_thread_on_core(std::atoi(thread.path().filename().c_str()), core);
  }
}

}  // namespace godwit::bench
