#include "fabric/sim/process.hpp"

#include <bit>

namespace godwit::fabric::sim {

void Process::post(Task task) {
  timeline_.schedule({.at = now(), .what = What::task, .target = this, .task = std::move(task)});
}

TimerId Process::post_at(Time when, Task task) {
  const EventHandle handle = timeline_.schedule(
      {.at = when, .what = What::timer, .target = this, .task = std::move(task)});
  return {(std::uint64_t{handle.generation} << 32U) | handle.slot};
}

void Process::cancel(TimerId timer) {
  if (!alive_) return;
  timeline_.cancel(
      {static_cast<std::uint32_t>(timer.value), static_cast<std::uint32_t>(timer.value >> 32U)});
}

void Process::offload(Task work, Task done) {
  if (!alive_) return;
  work();
  timeline_.after(timeline_.draw(options_.load_delay),
                  {.what = What::loaded, .target = this, .task = std::move(done)});
}

}  // namespace godwit::fabric::sim
