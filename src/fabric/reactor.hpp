// The event loop of a process, with movable ownership.
//
// Protocol state (transports, sockets, whatever sits above them) belongs to the reactor's owner:
// at any moment at most one thread, which polls, runs posted tasks and timers, and delivers events.
// Three kinds of threads own it, each for a while:
//   - the progress thread, when nobody else does; it spins a little after the last event and then
//     sleeps in epoll. Sleeping is not owning.
//   - a thread in wait(): it takes the free reactor and polls until its Waiter is done, so that a
//     hot call is never handed from thread to thread.
//   - a thread in try_run_as_owner(): to start a call right where it is made.
//
// A thread that leaves arms the transports again, so that new work wakes the sleeper. When threads
// come back in quick succession arming would cost more than it is worth: the reactor then leaves
// polling and sleeping to them, and the progress thread only looks in every `patrol_us`. That is
// the longest an event waits if those threads stop coming back. A single thread that comes back so
// often becomes the regular (see Ownership), until others want in. A thread that waits for long
// takes the progress thread's place in epoll: what it waits for then wakes it, and nobody else. All
// events are handled by that thread then, at its priority.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "fabric/fd.hpp"
#include "fabric/idleness.hpp"
#include "fabric/offload_pool.hpp"
#include "fabric/ownership.hpp"
#include "fabric/timers.hpp"
#include "fabric/transport.hpp"
#include "fabric/waiter.hpp"
#include "fabric/watches.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

// Until start() and after stop() there is no progress thread; then whoever calls wait(), run_once()
// or try_run_as_owner() makes progress.
class Reactor final : public Scheduler {
 public:
  struct Options {
    std::string name = "godwit";   // of its threads, for debuggers
    std::int64_t spin_us = 50;     // polls on for so long after the last event, then sleeps
    std::int64_t patrol_us = 500;  // see above
    std::size_t offload_threads = 2;
  };
  [[nodiscard]] static Result<std::unique_ptr<Reactor>> create(Options options);
  // Stops first. Transports, sockets and watches must be gone or never used again.
  ~Reactor() override;

  // Starts the progress thread.
  [[nodiscard]] Status start();
  // Joins the progress thread, ends offloaded work that has not begun, and runs what was posted
  // before, once; what is posted later is dropped with the reactor. wait() returns. Not from
  // inside the reactor.
  void stop();

  // Any thread, unless it owns already. If nobody but the progress thread owns the reactor, runs
  // `f` now as its owner and returns true; otherwise returns false within microseconds without
  // running it (post() it then).
  template <class F>
  bool try_run_as_owner(F&& f) {
    if (!ownership_.try_enter() && !take_from_others()) return false;
    std::forward<F>(f)();
    leave();
    return true;
  }
  // The same, and then waits as wait() does, without leaving in between: what `f` starts is mostly
  // over before anybody who has left would be called again.
  template <class F>
  bool try_run_and_wait(F&& f, Waiter& waiter, Time deadline) {
    if (!ownership_.try_enter() && !take_from_others()) return false;
    std::forward<F>(f)();
    wait_on(waiter, deadline, true);
    return true;
  }
  // Makes progress, or waits while others do, until the waiter is done (true) or the deadline has
  // passed or the reactor stops (false). Any thread but the owner: waiting inside the reactor is
  // a bug that ends the process, because nobody could ever end that wait.
  bool wait(Waiter& waiter, Time deadline);
  // One round of polling, if nobody else owns the reactor. Returns what it did (0: idle).
  std::size_t run_once();

  [[nodiscard]] bool owned_by_this_thread() const noexcept;
  // Debug builds: ends the process if the caller may not touch protocol state.
  void assert_owner() const noexcept;

  // The owner's (or before start()). The transport outlives its time here.
  [[nodiscard]] Status add(Transport& transport);
  void remove(Transport& transport);
  // The owner's. `events` as for epoll_ctl, level-triggered. With EPOLLET the descriptor wakes a
  // sleeper, but its handler may not hear of that edge; EPOLLONESHOT would lose the event
  // altogether, and is refused.
  [[nodiscard]] Status watch(int fd, std::uint32_t events, FdHandler& handler);
  [[nodiscard]] Status rewatch(int fd, std::uint32_t events);
  // The owner's: input only ends a sleep. It counts as no work, since there may be none behind it.
  [[nodiscard]] Status watch_to_wake(int fd);
  void unwatch(int fd);

  // Scheduler. post() and the offloads from any thread, the rest by the owner. The queues are not
  // bounded here: protocol code bounds what it starts.
  [[nodiscard]] Time now() const override;
  void post(Task task) override;
  TimerId post_at(Time when, Task task) override;
  void cancel(TimerId timer) override;
  void offload(Task work, Task done) override;
  void offload_background(Task work, Task done) override;

 private:
  explicit Reactor(Options options, Watches watches, Fd wake);

  [[nodiscard]] bool take_from_others() noexcept;
  void release() noexcept;
  void leave();
  [[nodiscard]] bool enter_client_mode();
  void end_client_mode() noexcept;
  void consider_regular();
  void rouse() noexcept;
  [[nodiscard]] bool arm();

  void run_on(OffloadPool& pool, Task work, Task done);
  std::size_t poll_once();
  std::size_t run_posted();
  std::size_t look_at_clock();

  void progress();
  void stand_in_for_sentry();
  void keep_polling();
  void sleep_in_epoll(Time deadline);
  void nap(Duration length);
  void wait_on(Waiter& waiter, Time deadline, bool owns);
  [[nodiscard]] bool drive(Waiter& waiter, Time deadline);
  // Of a thread, in one wait.
  struct Sleeps {
    Duration longest{0};
    std::optional<Time> asked_at{};  // for the progress thread's place in epoll, in vain so far
    bool on_duty = false;            // nobody else may be in epoll
  };
  void sleep_as_sentry(Waiter& waiter, Time deadline, Sleeps& sleeps);
  void sleep_on(Waiter& waiter, Time deadline, Duration slice);
  void give_duty_back(Sleeps& sleeps);
  void linger(Waiter& waiter, Time deadline, Sleeps& sleeps);

  const Options options_;
  Watches watches_;
  Fd wake_;

  Ownership ownership_;

  // The owner's.
  alignas(64) std::vector<Transport*> transports_;
  Timers timers_;
  std::uint32_t polls_ = 0;
  Courtesy courtesy_;
  bool look_at_fds_ = false;
  Time fds_seen_at_;
  Duration fd_interval_{0};
  Time epoll_deadline_;  // until when the thread in epoll sleeps
  Time left_at_;
  std::uint32_t quick_leaves_ = 0;
  std::uintptr_t latest_visitor_ = 0;
  std::uint32_t visits_in_a_row_ = 0;  // by the latest visitor
  std::uint32_t visits_of_a_regular_;  // so many make one
  std::vector<Task> running_;

  // Shared.
  alignas(64) std::atomic<bool> has_posted_{false};
  std::atomic<bool> client_mode_{false};  // threads come and go quickly; written by the owner
  // The thread that sleeps in epoll for everybody; 0: none, or it has been roused.
  std::atomic<std::uintptr_t> in_epoll_{0};
  // Who is really there, roused or not. Never both: a ring must not wake the wrong one.
  std::atomic<bool> client_sentry_{false};
  std::atomic<bool> progress_in_epoll_{false};
  // The progress thread, outside epoll; its futex.
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kNapping = 1;  // for patrol_us at most
  static constexpr std::uint32_t kAsleep = 2;   // for longer: it relies on the one in epoll
  static constexpr std::uint32_t kRoused = 3;   // and has not looked since
  std::atomic<std::uint32_t> patrol_{kAwake};
  std::atomic<bool> relief_{false};  // somebody wants its place in epoll
  std::atomic<std::uint32_t> sleeping_waiters_{0};
  std::atomic<std::uint32_t> visitors_at_door_{0};  // the progress thread makes way for them
  std::atomic<std::uintptr_t> progress_tag_{0};
  std::atomic<std::uint64_t> visits_{0};  // by threads other than the progress thread
  std::atomic<std::uint64_t> visitor_polls_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
  std::mutex posted_mutex_;
  std::vector<Task> posted_;

  OffloadPool pool_;
  OffloadPool background_pool_;
  std::thread progress_thread_;
};

}  // namespace godwit::fabric
