// The threads that run one rank's kernels: the rank's own, and as many more as were asked for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace godwit::forward {

class WorkerTeam {
 public:
  // `size` workers, the thread that calls run() included.
  explicit WorkerTeam(std::size_t size);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size() + 1; }
  // Calls work(worker) once for every worker, each in its thread, and returns when all are done.
  // What one throws is thrown here, after the others have ended.
  void run(const std::function<void(std::size_t worker)>& work);

 private:
  void serve(std::size_t worker);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::uint64_t turn_ = 0;  // of run()
  std::size_t busy_ = 0;
  bool ending_ = false;
  std::exception_ptr thrown_;
  std::vector<std::thread> threads_;
};

}  // namespace godwit::forward
