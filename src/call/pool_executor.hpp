// A pool of threads that stays at its width while jobs wait: for each waiting job one more may run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "call/executor.hpp"

namespace godwit::call {

class PoolExecutor final : public Executor {
 public:
  struct Options {
    std::size_t width = 2;          // jobs that run at the same time
    std::size_t max_blocked = 256;  // jobs that wait at the same time, beyond the width
    std::size_t max_queued = 65536;
  };

  explicit PoolExecutor(Options options) : options_(options) {}
  // Waits for the jobs that run; jobs still queued are dropped.
  ~PoolExecutor() override;

  [[nodiscard]] bool submit(Job& job) override;
  // Runs the queued jobs with that function, here and now: those that may not be dropped.
  void run_queued(void (*kind)(Job& job));
  [[nodiscard]] bool begin_blocking() override;
  void end_blocking() override;

  [[nodiscard]] std::size_t queued() const;
  [[nodiscard]] std::size_t blocked() const;

 private:
  void work();
  void add_thread_if_needed();

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  std::size_t queued_ = 0;
  std::size_t blocked_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace godwit::call
