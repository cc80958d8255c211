#include "fabric/sim/chaos.hpp"

#include <utility>

namespace godwit::fabric::sim {

Chaos::Chaos(World& world, std::vector<ProcessId> victims, ChaosOptions options)
    : world_(world),
      victims_(std::move(victims)),
      options_(options),
      running_(std::make_shared<bool>(true)) {
  schedule_next();
}

Chaos::~Chaos() {
  *running_ = false;
}

void Chaos::stop() {
  *running_ = false;
  world_.heal();
  for (const ProcessId victim : victims_) {
    world_.set_slow(victim, Duration{0});
    if (!world_.is_up(victim)) world_.restart(victim);
  }
}

void Chaos::after(Delay delay, Task task) {
  const auto spread = static_cast<std::uint64_t>((delay.most - delay.least).count());
  const Duration drawn =
      delay.least + Duration(static_cast<Duration::rep>(world_.random().below(spread + 1)));
  world_.after(drawn, [running = running_, held = std::move(task)]() mutable {
    if (*running) held();
  });
}

void Chaos::schedule_next() {
  after(options_.interval, [this] {
    strike();
    schedule_next();
  });
}

void Chaos::strike() {
  const std::uint64_t total = std::uint64_t{options_.crash_weight} + options_.partition_weight +
                              options_.break_weight + options_.slow_weight;
  if (total == 0 || victims_.empty()) return;
  ++faults_;
  std::uint64_t drawn = world_.random().below(total);
  if (drawn < options_.crash_weight) return crash_one();
  drawn -= options_.crash_weight;
  if (drawn < options_.partition_weight) return partition_some();
  drawn -= options_.partition_weight;
  if (drawn < options_.slow_weight) return slow_one();
  world_.break_any_link();
}

void Chaos::crash_one() {
  const ProcessId victim = world_.random().pick(std::span(victims_));
  if (!world_.is_up(victim)) return;
  world_.crash(victim);
  after(options_.down_time, [this, victim] {
    if (!world_.is_up(victim)) world_.restart(victim);
  });
}

void Chaos::partition_some() {
  std::vector<ProcessId> group;
  for (const ProcessId victim : victims_) {
    if (world_.random().chance(0.5)) group.push_back(victim);
  }
  world_.partition(group);
  after(options_.partition_time, [this] { world_.heal(); });
}

void Chaos::slow_one() {
  const ProcessId victim = world_.random().pick(std::span(victims_));
  const Delay cost = options_.slow_event_cost;
  const auto spread = static_cast<std::uint64_t>((cost.most - cost.least).count());
  world_.set_slow(
      victim, cost.least + Duration(static_cast<Duration::rep>(world_.random().below(spread + 1))));
  after(options_.slow_time, [this, victim] { world_.set_slow(victim, Duration{0}); });
}

}  // namespace godwit::fabric::sim
