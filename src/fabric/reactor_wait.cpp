// How threads other than the progress thread use the reactor: wait(), run_once(), leaving.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "fabric/fence.hpp"
#include "fabric/idleness.hpp"
#include "fabric/reactor.hpp"
#include "fabric/thread_tag.hpp"

namespace godwit::fabric {
namespace {

// So many visits in a row, each so soon after the last, and the visiting threads are left to look
// after the reactor themselves.
constexpr std::uint32_t kQuickLeaves = 8;
constexpr Duration kQuickly = std::chrono::microseconds(200);
// Sleeping threads look up so often: stop() does not know them, and without a progress thread
// nobody is sure to poll for them.
constexpr Duration kSleepSlice = std::chrono::milliseconds(100);
constexpr Duration kUnattendedSlice = std::chrono::milliseconds(1);
constexpr std::uint32_t kPollsPerDeadline = 64;
// How long a thread tries to take the progress thread's place: longer than that takes to wake up.
constexpr Duration kReliefPatience = std::chrono::milliseconds(1);
// How long a visitor waits at the door: a few polls of the progress thread, if that runs now.
constexpr int kDoorSpins = 32;
constexpr std::uint32_t kMostVisitsOfARegular = 65536;

}  // namespace

std::size_t Reactor::run_once() {
  if (!ownership_.try_enter() && !ownership_.try_evict()) return 0;
  const std::size_t work = poll_once();
  leave();
  return work;
}

// From a regular that is not inside, or from the progress thread: that polls only while nobody else
// does, and goes when asked.
bool Reactor::take_from_others() noexcept {
  if (ownership_.try_evict()) return true;
  ownership_.complain();
  if (ownership_.owner() == this_thread_tag()) {
    // The regular, turned away at its own door. Whoever saw it there took it for an owner, and
    // relied on it to look.
    if (has_posted_.load(std::memory_order_seq_cst)) rouse();
    return false;
  }
  if (ownership_.owner() != progress_tag_.load(std::memory_order_relaxed)) return false;
  visitors_at_door_.fetch_add(1, std::memory_order_relaxed);
  bool taken = ownership_.try_enter();
  for (int i = 0; i < kDoorSpins && !taken; ++i) {
    cpu_relax();
    taken = ownership_.try_enter();
  }
  visitors_at_door_.fetch_sub(1, std::memory_order_relaxed);
  return taken;
}

// The owner goes. Either the visitors look after the reactor (client mode), or the transports are
// armed and somebody is asleep in epoll, awake, or waking up.
void Reactor::leave() {
  visits_.store(visits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const bool visitors_look_after =
      client_mode_.load(std::memory_order_relaxed) || enter_client_mode();
  if (visitors_look_after && !client_sentry_.load(std::memory_order_acquire)) {
    consider_regular();
    release();
    return;
  }
  ownership_.resign();
  const bool armed = arm();
  const bool sleeper_late = timers_.next_due() < epoll_deadline_;
  release();
  // Nobody in epoll: the progress thread is awake, or naps and should go there now.
  if (!armed || sleeper_late || in_epoll_.load(std::memory_order_seq_cst) == 0) rouse();
}

bool Reactor::enter_client_mode() {
  if (!started_.load(std::memory_order_relaxed)) return true;  // there are only visitors
  const Time time = now();
  quick_leaves_ = time - left_at_ < kQuickly ? quick_leaves_ + 1 : 0;
  left_at_ = time;
  if (quick_leaves_ < kQuickLeaves) return false;
  client_mode_.store(true, std::memory_order_relaxed);
  rouse();  // from epoll to patrol
  return true;
}

void Reactor::end_client_mode() noexcept {
  client_mode_.store(false, std::memory_order_relaxed);
  quick_leaves_ = 0;
}

// The owner goes, and visitors look after the reactor. A regular that others complained about has
// to come more often before it is the regular again.
void Reactor::consider_regular() {
  if (ownership_.has_regular()) {
    if (!ownership_.has_complaints()) return;
    ownership_.resign();
    visits_in_a_row_ = 0;
    visits_of_a_regular_ = std::min(visits_of_a_regular_ * 2, kMostVisitsOfARegular);
    return;
  }
  if (std::exchange(latest_visitor_, this_thread_tag()) != this_thread_tag()) visits_in_a_row_ = 0;
  if (++visits_in_a_row_ < visits_of_a_regular_) return;
  visits_in_a_row_ = 0;
  ownership_.become_regular();
}

bool Reactor::wait(Waiter& waiter, Time deadline) {
  if (waiter.done()) return true;
  if (owned_by_this_thread()) {
    std::fprintf(stderr, "reactor %s: wait() called by its owner (a handler, task or timer)\n",
                 options_.name.c_str());
    std::abort();
  }
  wait_on(waiter, deadline, false);
  return waiter.done();
}

// `owns`: this thread has entered already.
void Reactor::wait_on(Waiter& waiter, Time deadline, bool owns) {
  Sleeps sleeps;
  bool slept = false;
  while (!waiter.done() && !stopping_.load(std::memory_order_relaxed)) {
    if (!owns && !ownership_.try_enter() && !take_from_others()) {
      linger(waiter, deadline, sleeps);
      if (now() >= deadline) break;
      continue;
    }
    owns = false;  // whichever way it goes on
    sleeps.on_duty = false;
    if (std::exchange(slept, false)) look_at_fds_ = true;
    if (drive(waiter, deadline)) {
      // A long sleep has ended the quick succession of visits.
      if (sleeps.longest > kQuickly) end_client_mode();
      if (sleeps.asked_at) relief_.store(false, std::memory_order_relaxed);
      leave();
      break;
    }
    const Time before = now();
    sleep_as_sentry(waiter, deadline, sleeps);
    sleeps.longest = std::max(sleeps.longest, now() - before);
    slept = true;
  }
  if (owns) leave();
  if (sleeps.on_duty) give_duty_back(sleeps);
}

// To the progress thread, which must not nap for the sake of one that is not there: nobody else has
// taken its place in epoll.
void Reactor::give_duty_back(Sleeps& sleeps) {
  if (sleeps.asked_at) relief_.store(false, std::memory_order_relaxed);
  sleeps.asked_at.reset();
  sleeps.on_duty = false;
  rouse();
}

// The owner polls. True: the waiter is done or its time is up; false: nothing has happened for a
// while, better sleep.
bool Reactor::drive(Waiter& waiter, Time deadline) {
  Idleness idleness(options_.spin_us, courtesy_);
  while (true) {
    visitor_polls_.store(visitor_polls_.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    const std::size_t work = poll_once();
    if (waiter.done() || stopping_.load(std::memory_order_relaxed)) return true;
    // Also while others' events keep it from being idle.
    if (polls_ % kPollsPerDeadline == 0 && now() >= deadline) return true;
    if (work != 0) {
      idleness.reset();
    } else if (idleness.expired([this] { return now(); })) {
      return now() >= deadline;
    }
  }
}

// The owner, idle. Where visitors look after the reactor it becomes the thread that sleeps in
// epoll, so that the event it waits for wakes it directly; otherwise the progress thread is there
// already. Who has waited for long relieves it: being woken by a thread that was woken itself takes
// twice as long. Returns without owning.
void Reactor::sleep_as_sentry(Waiter& waiter, Time deadline, Sleeps& sleeps) {
  const bool visitors_look_after =
      client_mode_.load(std::memory_order_relaxed) || !started_.load(std::memory_order_relaxed);
  const bool waits_long = sleeps.longest >= kQuickly;
  const bool progress_is_there = progress_in_epoll_.load(std::memory_order_acquire);
  const bool in_vain =
      progress_is_there && sleeps.asked_at && now() - *sleeps.asked_at > kReliefPatience;
  if (client_sentry_.load(std::memory_order_acquire) || in_vain ||
      (!visitors_look_after && !waits_long)) {
    if (sleeps.asked_at) relief_.store(false, std::memory_order_relaxed);
    sleeps.asked_at.reset();
    if (in_vain) end_client_mode();  // it will be looked after by the one that does not come out
    leave();
    // Unless that was one leave of many: then the progress thread goes on patrol, and it is this
    // thread's turn to look after the reactor.
    if (visitors_look_after || !client_mode_.load(std::memory_order_relaxed)) {
      sleep_on(waiter, deadline, waits_long ? kSleepSlice : kQuickly);
    }
    return;
  }
  sleeps.on_duty = true;
  if (progress_is_there) {
    // On its way out, where visitors look after the reactor; otherwise it has to be asked.
    if (!visitors_look_after && !relief_.exchange(true, std::memory_order_relaxed)) rouse();
    if (!sleeps.asked_at) sleeps.asked_at = now();
    release();
    ::sched_yield();
    return;
  }
  if (!arm() || !waiter.enter_epoll(wake_.get())) {
    release();
    return;
  }
  sleeps.asked_at.reset();
  relief_.store(false, std::memory_order_relaxed);
  client_sentry_.store(true, std::memory_order_relaxed);  // the owner's, like all who read it
  sleep_in_epoll(std::min(deadline, timers_.next_due()));
  client_sentry_.store(false, std::memory_order_release);
  waiter.leave_epoll();
  // Others may rely on this thread in epoll, or the progress thread naps for long for its sake; and
  // who looks after the reactor may go without a word.
  if (client_mode_.load(std::memory_order_relaxed) &&
      (sleeping_waiters_.load(std::memory_order_seq_cst) != 0 ||
       patrol_.load(std::memory_order_seq_cst) == kAsleep)) {
    rouse();
  }
}

void Reactor::sleep_on(Waiter& waiter, Time deadline, Duration slice) {
  if (!started_.load(std::memory_order_relaxed)) slice = std::min(slice, kUnattendedSlice);
  sleeping_waiters_.fetch_add(1, std::memory_order_seq_cst);
  // The progress thread may rely on one in epoll that has been woken, and turned away since.
  if (patrol_.load(std::memory_order_seq_cst) == kAsleep &&
      in_epoll_.load(std::memory_order_seq_cst) == 0) {
    rouse();
  }
  waiter.sleep_until(std::min(deadline, now() + slice));
  sleeping_waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

// Somebody else owns the reactor and will probably complete the waiter on the way; the progress
// thread makes way.
void Reactor::linger(Waiter& waiter, Time deadline, Sleeps& sleeps) {
  Courtesy courtesy;  // not the owner's
  Idleness idleness(options_.spin_us, courtesy);
  bool tired = false;
  visitors_at_door_.fetch_add(1, std::memory_order_relaxed);
  while (!tired && ownership_.is_occupied() && !waiter.done())
    tired = idleness.expired([this] { return now(); });
  visitors_at_door_.fetch_sub(1, std::memory_order_relaxed);
  if (!tired) return;
  if (sleeps.asked_at) give_duty_back(sleeps);
  sleep_on(waiter, deadline, kSleepSlice);
}

}  // namespace godwit::fabric
