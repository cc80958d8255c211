#include "call/pool_executor.hpp"

#include <utility>

namespace godwit::call {

PoolExecutor::~PoolExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    first_ = last_ = nullptr;
    queued_ = 0;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool PoolExecutor::submit(Job& job) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queued_ >= options_.max_queued) return false;
  job.next_job = nullptr;
  (last_ == nullptr ? first_ : last_->next_job) = &job;
  last_ = &job;
  ++queued_;
  add_thread_if_needed();
  wake_.notify_one();
  return true;
}

void PoolExecutor::run_queued(void (*kind)(Job& job)) {
  for (;;) {
    Job* found = nullptr;
    {
      const std::lock_guard lock(mutex_);
      Job* before = nullptr;
      for (found = first_; found != nullptr && found->run != kind; found = found->next_job) {
        before = found;
      }
      if (found == nullptr) return;
      (before == nullptr ? first_ : before->next_job) = found->next_job;
      if (last_ == found) last_ = before;
      --queued_;
    }
    kind(*found);
  }
}

bool PoolExecutor::begin_blocking() {
  const std::lock_guard lock(mutex_);
  if (blocked_ >= options_.max_blocked) return false;
  ++blocked_;
  if (queued_ > 0) add_thread_if_needed();
  return true;
}

void PoolExecutor::end_blocking() {
  const std::lock_guard lock(mutex_);
  --blocked_;
}

std::size_t PoolExecutor::queued() const {
  const std::lock_guard lock(mutex_);
  return queued_;
}

std::size_t PoolExecutor::blocked() const {
  const std::lock_guard lock(mutex_);
  return blocked_;
}

// Threads are made when work first needs them, so a process that runs only inline code has none.
void PoolExecutor::add_thread_if_needed() {
  if (idle_ < queued_ && threads_.size() < options_.width + blocked_) {
    threads_.emplace_back([this] { work(); });
  }
}

void PoolExecutor::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    --idle_;
    if (stopping_) return;
    Job* job = first_;
    first_ = job->next_job;
    if (first_ == nullptr) last_ = nullptr;
    --queued_;
    lock.unlock();
    job->run(*job);
    lock.lock();
  }
}

}  // namespace godwit::call
