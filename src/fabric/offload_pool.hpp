// Threads for work that may take its time: loading, compiling, resolving names.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/task.hpp"

namespace godwit::fabric {

// How its threads compete for cores with the threads that poll.
enum class OffloadPriority : std::uint8_t {
  normal,  // somebody waits for the work; a thread that wakes up may interrupt it soon
  low,     // runs on what no other thread wants, and is interrupted at once
};

// Threads start with the first work they are needed for. The queue has no limit of its own: those
// who offload bound what they start; queued() is there to watch it.
class OffloadPool {
 public:
  OffloadPool(std::size_t max_threads, std::string name,
              OffloadPriority priority = OffloadPriority::normal);
  ~OffloadPool() { stop(); }

  // Any thread. After stop() the task is dropped unrun.
  void run(Task work);
  // Waits for the work that is running and drops the rest. Idempotent.
  void stop();
  [[nodiscard]] std::size_t queued() const;

 private:
  void serve();

  const std::size_t max_threads_;
  const std::string name_;
  const OffloadPriority priority_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_threads_ = 0;
  bool stopping_ = false;
};

}  // namespace godwit::fabric
