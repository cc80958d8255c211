#include "fabric/offload_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace godwit::fabric {

namespace {

// What sched_setattr(2) takes, in its first version; the C library does not declare it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

// The least that Linux (6.12 and later) takes: so soon can a thread that wakes up have the core.
constexpr std::uint64_t kSliceNs = 100'000;

// For the calling thread alone. A refusal costs speed elsewhere and nothing here, so it is ignored.
void give_way(OffloadPriority priority) {
  const int policy = priority == OffloadPriority::low ? SCHED_IDLE : ::sched_getscheduler(0);
  if (policy == SCHED_FIFO || policy == SCHED_RR) return;  // somebody knows better
  SchedulingAttributes attributes;
  attributes.policy = static_cast<std::uint32_t>(policy);
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = kSliceNs;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0U);
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
  give_way(priority_);
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
