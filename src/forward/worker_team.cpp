#include "forward/worker_team.hpp"

#include <utility>

namespace godwit::forward {

WorkerTeam::WorkerTeam(std::size_t size) {
  for (std::size_t worker = 1; worker < size; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

WorkerTeam::~WorkerTeam() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::run(const std::function<void(std::size_t)>& work) {
  if (threads_.empty()) return work(0);
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = threads_.size();
    ++turn_;
  }
  changed_.notify_all();
  std::exception_ptr thrown;
  try {
    work(0);
  } catch (...) {
    thrown = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
  if (std::exception_ptr theirs = std::exchange(thrown_, nullptr); !thrown) thrown = theirs;
  lock.unlock();
  if (thrown) std::rethrow_exception(thrown);
}

void WorkerTeam::serve(std::size_t worker) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    changed_.wait(lock, [&] { return ending_ || turn_ != seen; });
    if (ending_) return;
    seen = turn_;
    const auto* const work = work_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      (*work)(worker);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown && !thrown_) thrown_ = thrown;
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace godwit::forward
