// Time and deferred work, as protocol code sees them. The real one is fabric::Reactor; the
// simulated one is fabric::sim::World, where time moves only when nothing is left to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/task.hpp"

namespace godwit {

using Duration = std::chrono::nanoseconds;
// Monotonic; its zero is arbitrary and means nothing to another process.
struct Time {
  std::int64_t ns = 0;
  friend auto operator<=>(const Time&, const Time&) = default;
  friend Time operator+(Time t, Duration d) { return {t.ns + d.count()}; }
  friend Time operator-(Time t, Duration d) { return {t.ns - d.count()}; }
  friend Duration operator-(Time a, Time b) { return Duration(a.ns - b.ns); }
};

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;
};

struct TimerId {
  std::uint64_t value = 0;
};

// Runs protocol code, always one task at a time ("the owning thread", whichever thread that is at
// the moment). Only post() may be called by other threads.
class Scheduler : public Clock {
 public:
  // Runs the task soon, after those posted before it. Any thread.
  virtual void post(Task task) = 0;
  // Runs the task once `when` has come. A task in the past runs soon.
  virtual TimerId post_at(Time when, Task task) = 0;
  // A timer that has fired, or was cancelled before, is ignored.
  virtual void cancel(TimerId timer) = 0;
  // Runs `work` where it may take its time (another thread), then `done` like a posted task.
  // `work` must not touch protocol state.
  virtual void offload(Task work, Task done) = 0;
  // The same for work that takes long and that nobody waits for: it keeps neither offload()ed work
  // nor this scheduler's own tasks waiting, and goes on only where a core is free. Threads that
  // `work` starts inherit that.
  virtual void offload_background(Task work, Task done) {
    offload(std::move(work), std::move(done));
  }
};

}  // namespace godwit
