// A simulated cluster: processes, a network and a clock, all driven by one seed. The code under
// test is the production code; it sees its Scheduler and its Transport and nothing of the world.
//
//   World world(seed, {.link_break_chance = 0.01});
//   const ProcessId a = world.add_process([](World& w, ProcessId self) {
//     return std::make_shared<Node>(w.scheduler(self), ...);   // Node asks w.transport(self,
//     *this)
//   });
//   ...
//   world.crash(a);                                    // its Node is destroyed, its events stop
//   world.restart(a);                                  // a new Node, with a greater epoch
//   EXPECT_TRUE(world.run_until([&] { return done; }, std::chrono::seconds(10)));
//
// The same seed, options and driver give the same run, event for event: trace_hash() tells. Code
// under test keeps to that if it draws no randomness of its own, reads no other clock, and does
// not let addresses of objects decide anything.
//
// Everything happens on the thread that calls step() or run_*(); nothing here is thread-safe, not
// even Scheduler::post(). Speed: millions of events per second, thousands of processes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/scheduler.hpp"
#include "fabric/sim/options.hpp"
#include "fabric/transport.hpp"

namespace godwit::fabric::sim {

class Network;
class Process;
class Timeline;

class World {
 public:
  // Builds what a process consists of, at its start and at each restart. The world owns the
  // result and destroys it at a crash: never in the middle of an event.
  using Boot = std::function<std::shared_ptr<void>(World& world, ProcessId self)>;

  explicit World(std::uint64_t seed, Options options = {});
  // Transports that live outside of Boot's objects are destroyed before the world.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // -- Processes ---------------------------------------------------------------------------------

  // A process that is up, in epoch 1, with `boot` run. Without one the caller owns its objects.
  ProcessId add_process(Boot boot = {});
  // A crash drops everything: tasks, timers and messages for the process never arrive, borrowed
  // parts of its sends are not read again, and its peers learn of it after down_delay (or
  // liveness_timeout across a partition). Its scheduler and transports stay valid and do nothing.
  // A process may crash itself; its objects are destroyed after the current event.
  void crash(ProcessId process);
  // Starts the process again, crashing it first if it is up. `boot` runs at once, or after the
  // current event if there is one.
  void restart(ProcessId process);
  [[nodiscard]] bool is_up(ProcessId process) const;
  // Each event of the process takes this long; others wait behind it. Zero: not slow.
  void set_slow(ProcessId process, Duration event_cost);
  // The process, if it is up, does nothing for so long and then goes on, as one that was stopped or
  // swapped out does: what happens to it meanwhile waits, and its peers see silence, not an end.
  void pause(ProcessId process, Duration duration);
  [[nodiscard]] bool is_paused(ProcessId process) const;

  // Of the process's current start. Valid as long as the world.
  [[nodiscard]] Scheduler& scheduler(ProcessId process);
  [[nodiscard]] NodeId node_id(ProcessId process) const;  // the same across restarts
  [[nodiscard]] Epoch epoch(ProcessId process) const;
  [[nodiscard]] Address address(ProcessId process) const;

  // The process's way to its peers; at most one at a time per process. They see node_id(), epoch()
  // and the blob in their Hello. Events come from inside step(); poll() has nothing to do. If it is
  // destroyed while the process lives, its peers see the links break.
  // The address to listen at is address(process), or sim:0 for "mine".
  [[nodiscard]] std::unique_ptr<Transport> transport(ProcessId process, TransportEvents& events,
                                                     std::string hello_blob = {});

  // -- Faults ------------------------------------------------------------------------------------

  // Cuts the group off from all others; within it, everyone reaches everyone. Messages across the
  // cut stall; a cut that lasts liveness_timeout kills the links across it. Cuts add up: a process
  // reaches those that every call so far left on its side.
  void partition(std::span<const ProcessId> group);
  // Ends all partitions: stalled messages go on, dead links stay dead.
  void heal();
  // Breaks all links between the two processes; returns how many there were.
  std::size_t break_links(ProcessId a, ProcessId b);
  // Breaks one link picked at random; false if there is none.
  bool break_any_link();

  // -- Time --------------------------------------------------------------------------------------

  [[nodiscard]] Time now() const;
  // Runs a task of the test itself, belonging to no process, after the delay.
  void after(Duration delay, Task task);
  // Runs the next event, if there is one.
  bool step();
  // Runs events until the predicate holds, checked first and after every event; false if time runs
  // out or nothing is left to happen.
  bool run_until(const std::function<bool()>& predicate, Duration limit);
  // Runs the events of that much simulated time and leaves the clock there.
  void run_for(Duration duration);

  // -- Observation -------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  // Depends on every event so far: what, when, to whom.
  [[nodiscard]] std::uint64_t trace_hash() const;
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::size_t live_links() const;
  // For the driver's own choices, so that they follow the seed too.
  [[nodiscard]] Random& random() noexcept { return driver_random_; }

 private:
  struct Host;
  [[nodiscard]] Host& host(ProcessId process);
  [[nodiscard]] const Host& host(ProcessId process) const;
  void start(ProcessId process);
  void boot_or_defer(ProcessId process);
  void bury(std::shared_ptr<void> state, std::vector<Task> tasks);
  void after_step();

  const std::uint64_t seed_;
  const Options options_;
  Random random_;         // the world's: delays and faults
  Random driver_random_;  // the test's
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Host>> hosts_;  // by index - 1
  std::uint32_t last_island_ = 0;
  std::vector<Task> deferred_;  // what has to wait for the end of the current event
};

}  // namespace godwit::fabric::sim
