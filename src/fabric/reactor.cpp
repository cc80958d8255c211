#include "fabric/reactor.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/fail.hpp"
#include "fabric/idleness.hpp"
#include "fabric/thread_tag.hpp"

namespace godwit::fabric {
namespace {

constexpr std::size_t kMessagesPerPoll = 64;
// Polls between two looks at the clock: the clock costs more than an idle poll.
constexpr std::uint32_t kPollsPerClock = 16;
// Between two looks at the descriptors while polling: a look is a system call. Their events are
// rare (links coming and going), but come in bursts.
constexpr Duration kFdInterval = std::chrono::microseconds(20);
constexpr Duration kQuietFdInterval = std::chrono::microseconds(320);
constexpr Duration kLongestNap = std::chrono::milliseconds(16);
constexpr std::uint32_t kVisitsOfARegular = 128;

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create(Options options) {
  GODWIT_TRY(Watches watches, Watches::create());
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake)
    return fail(ErrorCode::resource_exhausted, "cannot create an eventfd: {}", errno_text(errno));
  // Level-triggered and read only by the thread that slept: an owner that looks at its descriptors
  // meanwhile must not take the ring away from it.
  GODWIT_CHECK(watches.add(wake.get(), EPOLLIN, nullptr));
  return std::unique_ptr<Reactor>(
      new Reactor(std::move(options), std::move(watches), std::move(wake)));
}

Reactor::Reactor(Options options, Watches watches, Fd wake)
    : options_(std::move(options)),
      watches_(std::move(watches)),
      wake_(std::move(wake)),
      visits_of_a_regular_(kVisitsOfARegular),
      pool_(options_.offload_threads, options_.name + "-work"),
      background_pool_(1, options_.name + "-slow", OffloadPriority::low) {}

Reactor::~Reactor() {
  stop();
}

Status Reactor::start() {
  if (stopping_.load() || started_.exchange(true))
    return fail(ErrorCode::invalid_argument, "reactor {}: started twice, or after stop()",
                options_.name);
  progress_thread_ = std::thread([this] { progress(); });
  return {};
}

void Reactor::stop() {
  if (stopping_.exchange(true)) return;
  rouse();
  ::eventfd_write(wake_.get(), 1);
  if (progress_thread_.joinable()) progress_thread_.join();
  started_.store(false);
  pool_.stop();
  background_pool_.stop();
  // A waiting thread is on its way out.
  while (!ownership_.try_enter() && !ownership_.try_evict()) ::sched_yield();
  run_posted();
  release();
}

// A poster that saw an owner relied on it to look once more: whoever releases does.
void Reactor::release() noexcept {
  ownership_.leave();
  if (has_posted_.load(std::memory_order_seq_cst)) [[unlikely]]
    rouse();
}

bool Reactor::owned_by_this_thread() const noexcept {
  return ownership_.is_mine();
}

void Reactor::assert_owner() const noexcept {
#ifndef NDEBUG
  if (owned_by_this_thread() || !started_.load(std::memory_order_relaxed)) return;
  std::fprintf(stderr, "reactor %s: protocol state touched by a thread that does not own it\n",
               options_.name.c_str());
  std::abort();
#endif
}

Status Reactor::add(Transport& transport) {
  assert_owner();
  if (transport.wake_fd() >= 0) GODWIT_CHECK(watch_to_wake(transport.wake_fd()));
  transports_.push_back(&transport);
  return {};
}

void Reactor::remove(Transport& transport) {
  assert_owner();
  watches_.remove(transport.wake_fd());
  std::erase(transports_, &transport);
}

Status Reactor::watch(int fd, std::uint32_t events, FdHandler& handler) {
  assert_owner();
  if ((events & EPOLLONESHOT) != 0)
    return fail(ErrorCode::invalid_argument, "descriptor {}: one-shot events get lost on a sleeper",
                fd);
  return watches_.add(fd, events, &handler);
}

Status Reactor::watch_to_wake(int fd) {
  assert_owner();
  return watches_.add(fd, EPOLLIN, nullptr);
}

Status Reactor::rewatch(int fd, std::uint32_t events) {
  assert_owner();
  return watches_.change(fd, events);
}

void Reactor::unwatch(int fd) {
  assert_owner();
  watches_.remove(fd);
}

Time Reactor::now() const {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return {time.tv_sec * 1'000'000'000 + time.tv_nsec};
}

void Reactor::post(Task task) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(task));
    has_posted_.store(true, std::memory_order_seq_cst);
  }
  if (!ownership_.is_attended()) rouse();
}

TimerId Reactor::post_at(Time when, Task task) {
  assert_owner();
  return timers_.add(when, std::move(task));
}

void Reactor::cancel(TimerId timer) {
  assert_owner();
  timers_.cancel(timer);
}

void Reactor::offload(Task work, Task done) {
  run_on(pool_, std::move(work), std::move(done));
}

void Reactor::offload_background(Task work, Task done) {
  run_on(background_pool_, std::move(work), std::move(done));
}

void Reactor::run_on(OffloadPool& pool, Task work, Task done) {
  pool.run([this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    post(std::move(done));
  });
}

std::size_t Reactor::poll_once() {
  std::size_t work = 0;
  if (has_posted_.load(std::memory_order_relaxed)) work += run_posted();
  for (std::size_t i = 0; i < transports_.size(); ++i)
    work += transports_[i]->poll(kMessagesPerPoll);
  if (++polls_ % kPollsPerClock == 0 || look_at_fds_) work += look_at_clock();
  return work;
}

std::size_t Reactor::run_posted() {
  {
    const std::lock_guard lock(posted_mutex_);
    running_.swap(posted_);
    has_posted_.store(false, std::memory_order_seq_cst);
  }
  for (Task& task : running_) task();
  const std::size_t ran = running_.size();
  running_.clear();
  return ran;
}

std::size_t Reactor::look_at_clock() {
  const Time time = now();
  std::size_t work = timers_.size() != 0 ? timers_.run_due(time) : 0;
  if (look_at_fds_ || time - fds_seen_at_ >= fd_interval_) {
    look_at_fds_ = false;
    fds_seen_at_ = time;
    const std::size_t events = watches_.dispatch();
    fd_interval_ =
        events != 0 ? kFdInterval : std::clamp(fd_interval_ * 2, kFdInterval, kQuietFdInterval);
    work += events;
  }
  return work;
}

// True: nothing is left to do, and new work wakes whoever sleeps in epoll.
bool Reactor::arm() {
  for (Transport* transport : transports_)
    if (!transport->prepare_to_sleep()) return false;
  return !has_posted_.load(std::memory_order_seq_cst);
}

// Wakes the one thread that sleeps on behalf of the reactor, wherever it sleeps. If none does,
// one is awake, and looks at everything before it sleeps.
void Reactor::rouse() noexcept {
  if (in_epoll_.exchange(0, std::memory_order_seq_cst) != 0) {
    ::eventfd_write(wake_.get(), 1);
    return;
  }
  const std::uint32_t before = patrol_.exchange(kRoused, std::memory_order_seq_cst);
  if (before == kNapping || before == kAsleep) futex_wake(&patrol_);
}

void Reactor::progress() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  progress_tag_.store(this_thread_tag(), std::memory_order_relaxed);
  const Duration patrol = std::chrono::microseconds(options_.patrol_us);
  Duration nap_length = patrol;
  std::uint64_t visits_seen = 0;
  std::uint64_t polls_seen = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    patrol_.exchange(kAwake, std::memory_order_seq_cst);
    bool free = ownership_.try_enter();
    const bool visited =
        std::exchange(visits_seen, visits_.load(std::memory_order_relaxed)) != visits_seen;
    // A regular that comes only to start calls does not look at what arrives.
    const bool polled =
        std::exchange(polls_seen, visitor_polls_.load(std::memory_order_relaxed)) != polls_seen;
    if (!free && (!polled || has_posted_.load(std::memory_order_relaxed)))
      free = ownership_.try_evict();
    // Somebody polls, or sleeps in epoll for everybody and must not be disarmed. The longer that
    // goes on, the less often this thread looks in; unless visitors leave without a word.
    if (!free || client_sentry_.load(std::memory_order_acquire)) {
      const bool in_silence = !free || client_mode_.load(std::memory_order_relaxed);
      if (free) {
        stand_in_for_sentry();
        release();
      }
      nap_length =
          in_silence && (visited || polled) ? patrol : std::min(nap_length * 2, kLongestNap);
      nap(nap_length);
      continue;
    }
    nap_length = patrol;
    if (relief_.exchange(false, std::memory_order_relaxed)) {
      release();
      nap(patrol);
      continue;
    }
    look_at_fds_ = true;
    poll_once();
    if (client_mode_.load(std::memory_order_relaxed)) {
      if (visited) {
        release();
        nap(patrol);
        continue;
      }
      end_client_mode();
    }
    keep_polling();
    // A visitor at the door comes in meanwhile, and when it leaves need not wake anybody: that
    // would cost it more than many of the answers it waits for.
    if (arm()) {
      progress_in_epoll_.store(true, std::memory_order_relaxed);
      sleep_in_epoll(timers_.next_due());
      progress_in_epoll_.store(false, std::memory_order_release);
    } else {
      release();
    }
  }
}

// The owner. A thread that has been rung in epoll may not get a core for long, by its priority or
// for the cores' other work: nothing waits for it.
void Reactor::stand_in_for_sentry() {
  if (in_epoll_.load(std::memory_order_seq_cst) != 0) {
    const Time time = now();
    if (time < epoll_deadline_ && watches_.sleep(time, time) < 0) return;
    rouse();
  }
  look_at_fds_ = true;
  poll_once();
}

// Polls until nothing has happened for spin_us, or somebody else wants to.
void Reactor::keep_polling() {
  Idleness idleness(options_.spin_us, courtesy_);
  while (!stopping_.load(std::memory_order_relaxed) &&
         visitors_at_door_.load(std::memory_order_relaxed) == 0) {
    if (poll_once() != 0) {
      idleness.reset();
    } else if (idleness.expired([this] { return now(); })) {
      return;
    }
  }
}

// The owner, having armed; returns without owning.
void Reactor::sleep_in_epoll(Time deadline) {
  std::uintptr_t self = this_thread_tag();
  epoll_deadline_ = deadline;
  in_epoll_.store(self, std::memory_order_seq_cst);
  ownership_.resign();
  ownership_.leave();
  if (!has_posted_.load(std::memory_order_seq_cst) && !stopping_.load(std::memory_order_seq_cst)) {
    if (watches_.sleep(now(), deadline) == wake_.get()) {
      eventfd_t rings = 0;
      ::eventfd_read(wake_.get(), &rings);
    }
  }
  in_epoll_.compare_exchange_strong(self, 0, std::memory_order_seq_cst);
}

// Not at all if it has been roused since it last looked, and for long only while another thread
// sleeps in epoll.
void Reactor::nap(Duration length) {
  const Duration patrol = std::chrono::microseconds(options_.patrol_us);
  const std::uint32_t state = length > patrol ? kAsleep : kNapping;
  auto awake = kAwake;
  if (!patrol_.compare_exchange_strong(awake, state, std::memory_order_seq_cst)) {
    ::sched_yield();  // perhaps to a thread in epoll that has been rung, and looks first
    return;
  }
  if (in_epoll_.load(std::memory_order_seq_cst) == 0) length = std::min(length, patrol);
  const bool unattended = has_posted_.load(std::memory_order_seq_cst) && !ownership_.is_attended();
  if (!unattended && !stopping_.load(std::memory_order_seq_cst))
    futex_wait(patrol_, state, now() + length);
}

}  // namespace godwit::fabric
