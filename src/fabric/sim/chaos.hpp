// Keeps a simulated world in trouble: crashes, restarts, partitions, broken links, slow processes,
// one fault after another as the seed has it.
#pragma once

#include <memory>
#include <vector>

#include "fabric/sim/world.hpp"

namespace godwit::fabric::sim {

struct ChaosOptions {
  // From one fault to the next.
  Delay interval{std::chrono::milliseconds(1), std::chrono::milliseconds(200)};
  // How often each kind of fault is drawn, relative to the others; 0: never.
  std::uint32_t crash_weight = 1;      // restarts after down_time
  std::uint32_t partition_weight = 1;  // of a random group; heals after partition_time
  std::uint32_t break_weight = 4;
  std::uint32_t slow_weight = 1;  // for slow_time
  Delay down_time{std::chrono::milliseconds(1), std::chrono::seconds(3)};
  Delay partition_time{std::chrono::milliseconds(1), std::chrono::seconds(4)};
  Delay slow_time{std::chrono::milliseconds(10), std::chrono::seconds(1)};
  Delay slow_event_cost{std::chrono::microseconds(100), std::chrono::milliseconds(5)};
};

class Chaos {
 public:
  // Strikes at the victims from now on. The world outlives the chaos.
  Chaos(World& world, std::vector<ProcessId> victims, ChaosOptions options = {});
  ~Chaos();
  Chaos(const Chaos&) = delete;
  Chaos& operator=(const Chaos&) = delete;

  // No more faults: heals partitions, restarts what is down, makes the slow fast again.
  void stop();
  [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }

 private:
  void schedule_next();
  void strike();
  void crash_one();
  void partition_some();
  void slow_one();
  // Runs the task later, unless stop() came first.
  void after(Delay delay, Task task);

  World& world_;
  std::vector<ProcessId> victims_;
  ChaosOptions options_;
  std::uint64_t faults_ = 0;
  std::shared_ptr<bool> running_;
};

}  // namespace godwit::fabric::sim
