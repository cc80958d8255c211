#include "settings.hpp"

#include <sched.h>

namespace godwit::bench {

void run_on_core(int core) noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (core < 0 || i == static_cast<std::size_t>(core)) CPU_SET(i, &cores);
  }
  // A machine with fewer cores still gives a number; it is merely a worse one.
  (void)::sched_setaffinity(0, sizeof cores, &cores);
}

}  // namespace godwit::bench
