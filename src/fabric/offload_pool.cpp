#include "fabric/offload_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace godwit::fabric {

namespace {

// A tenth of the weight of a normal thread: a compile still ends where every core is polled.
constexpr int kLowPriorityNice = 10;

// For the calling thread alone, which Linux allows. A refusal costs speed elsewhere, nothing else.
void lower_priority() {
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowPriorityNice);
}

}  // namespace

OffloadPool::OffloadPool(std::size_t max_threads, std::string name, OffloadPriority priority)
    : max_threads_(std::max<std::size_t>(1, max_threads)),
      name_(std::move(name)),
      priority_(priority) {}

void OffloadPool::run(Task work) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  queue_.push_back(std::move(work));
  if (idle_threads_ < queue_.size() && threads_.size() < max_threads_)
    threads_.emplace_back([this] { serve(); });
  wake_.notify_one();
}

void OffloadPool::stop() {
  std::vector<std::thread> threads;
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(queue_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

std::size_t OffloadPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void OffloadPool::serve() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  if (priority_ == OffloadPriority::low) lower_priority();
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_threads_;
    if (stopping_) return;
    Task work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = Task();  // what it captured dies outside the lock
    lock.lock();
  }
}

}  // namespace godwit::fabric
