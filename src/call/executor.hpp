// Where functions that are not inline run.
#pragma once

#include <cstddef>

namespace godwit::call {

// In process: PoolExecutor. A lease's executor is a child process behind the same interface.
class Executor {
 public:
  struct Job {
    Job* next_job = nullptr;
    void (*run)(Job& job) = nullptr;
  };

  virtual ~Executor() = default;
  // Runs the job soon, on another thread; it stays the caller's until run() is called. False: the
  // queue is at its limit, and nothing was taken. Any thread.
  [[nodiscard]] virtual bool submit(Job& job) = 0;
  // A running job brackets its waits with these, so that others may run meanwhile. False: as many
  // jobs wait as may; then the job must not wait.
  [[nodiscard]] virtual bool begin_blocking() = 0;
  virtual void end_blocking() = 0;
};

}  // namespace godwit::call
