#include "fabric/sim/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "fabric/sim/network.hpp"
#include "fabric/sim/process.hpp"
#include "fabric/sim/sim_transport.hpp"
#include "fabric/sim/timeline.hpp"

namespace godwit::fabric::sim {

// A process across its restarts.
struct World::Host {
  Boot boot;
  std::shared_ptr<void> state;
  // Every start there ever was: objects of a dead one may still refer to it.
  std::vector<std::unique_ptr<Process>> starts;
  std::uint32_t island = 0;
  Duration event_cost{0};

  [[nodiscard]] Process& current() const { return *starts.back(); }
};

World::World(std::uint64_t seed, Options options)
    : seed_(seed),
      options_(std::move(options)),
      random_(seed),
      driver_random_(mix64(seed)),
      timeline_(std::make_unique<Timeline>(seed, options_, random_)),
      network_(std::make_unique<Network>(*timeline_, options_, random_)) {}

World::~World() {
  for (const auto& host : hosts_) host->current().die();
  timeline_->clear();
  deferred_.clear();
  for (const auto& host : hosts_) host->state.reset();
  timeline_->clear();
}

ProcessId World::add_process(Boot boot) {
  const ProcessId id{static_cast<std::uint32_t>(hosts_.size() + 1)};
  hosts_.push_back(std::make_unique<Host>());
  hosts_.back()->boot = std::move(boot);
  start(id);
  return id;
}

void World::start(ProcessId process) {
  Host& it = host(process);
  it.starts.push_back(
      std::make_unique<Process>(*timeline_, options_, process, Epoch{it.starts.size() + 1}));
  it.current().pace().event_cost = it.event_cost;
  network_->register_process(it.current());
  boot_or_defer(process);
}

void World::boot_or_defer(ProcessId process) {
  if (!host(process).boot) return;
  if (timeline_->stepping()) {
    Process* started = &host(process).current();
    deferred_.emplace_back([this, process, started] {
      // It may have crashed, or been started again, before its turn came.
      if (&host(process).current() == started && started->alive()) boot_or_defer(process);
    });
    return;
  }
  host(process).state = host(process).boot(*this, process);
}

void World::crash(ProcessId process) {
  Host& it = host(process);
  if (!it.current().alive()) return;
  it.current().die();
  std::vector<Task> tasks;
  timeline_->purge(it.current(), tasks);
  network_->forget_process(it.current());
  bury(std::move(it.state), std::move(tasks));
}

void World::bury(std::shared_ptr<void> state, std::vector<Task> tasks) {
  // Tasks first: what they captured may refer to the state.
  auto burial = [dead = std::move(state), last_words = std::move(tasks)]() mutable {
    last_words.clear();
    dead.reset();
  };
  if (timeline_->stepping()) {
    deferred_.emplace_back(std::move(burial));
  } else {
    burial();
  }
}

void World::restart(ProcessId process) {
  crash(process);
  start(process);
}

bool World::is_up(ProcessId process) const {
  return host(process).current().alive();
}

void World::set_slow(ProcessId process, Duration event_cost) {
  host(process).event_cost = event_cost;
  host(process).current().pace().event_cost = event_cost;
}

void World::pause(ProcessId process, Duration duration) {
  Time& busy_until = host(process).current().pace().busy_until;
  busy_until = std::max(busy_until, now() + duration);
}

bool World::is_paused(ProcessId process) const {
  return is_up(process) && now() < host(process).current().pace().busy_until;
}

Scheduler& World::scheduler(ProcessId process) {
  return host(process).current();
}

NodeId World::node_id(ProcessId process) const {
  return {mix64(mix64(seed_) ^ process.index) | 1U};
}

Epoch World::epoch(ProcessId process) const {
  return host(process).current().epoch();
}

Address World::address(ProcessId process) const {
  return {.scheme = Address::Scheme::sim, .host = {}, .port = 0, .index = process.index};
}

std::unique_ptr<Transport> World::transport(ProcessId process, TransportEvents& events,
                                            std::string hello_blob) {
  Process& current = host(process).current();
  if (current.port().events != nullptr) {
    timeline_->violation("a process asked for a second transport");
  }
  current.port() = {&events, {node_id(process), current.epoch(), std::move(hello_blob)}, false};
  return std::make_unique<SimTransport>(*network_, current, options_);
}

void World::partition(std::span<const ProcessId> group) {
  // Members that were apart before stay apart: each old island that is split gets a new number.
  std::map<std::uint32_t, std::uint32_t> renamed;
  for (const ProcessId process : group) {
    Host& it = host(process);
    const auto [entry, is_new] = renamed.try_emplace(it.island, last_island_ + 1);
    if (is_new) ++last_island_;
    it.island = entry->second;
    network_->set_island(process, it.island);
  }
  network_->islands_changed();
}

void World::heal() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i]->island = 0;
    network_->set_island({static_cast<std::uint32_t>(i + 1)}, 0);
  }
  network_->islands_changed();
}

std::size_t World::break_links(ProcessId a, ProcessId b) {
  return network_->break_links(a, b);
}
bool World::break_any_link() {
  return network_->break_any();
}

Time World::now() const {
  return timeline_->now();
}

void World::after(Duration delay, Task task) {
  timeline_->after(delay, {.what = What::driver, .task = std::move(task)});
}

bool World::step() {
  const bool ran = timeline_->step();
  after_step();
  return ran;
}

void World::after_step() {
  while (!deferred_.empty()) {
    for (Task& task : std::exchange(deferred_, {})) task();
  }
}

bool World::run_until(const std::function<bool()>& predicate, Duration limit) {
  const Time end = now() + limit;
  while (!predicate()) {
    if (timeline_->idle() || timeline_->next_at() > end) return false;
    step();
  }
  return true;
}

void World::run_for(Duration duration) {
  const Time end = now() + duration;
  while (!timeline_->idle() && timeline_->next_at() <= end) step();
  timeline_->advance_to(end);
}

std::uint64_t World::trace_hash() const {
  return timeline_->trace_hash();
}

Counters World::counters() const {
  Counters counters = network_->counters();
  counters.events = timeline_->events();
  return counters;
}

std::size_t World::live_links() const {
  return network_->live_links();
}

World::Host& World::host(ProcessId process) {
  if (process.index == 0 || process.index > hosts_.size()) {
    timeline_->violation("the driver named a process that does not exist");
    std::abort();
  }
  return *hosts_[process.index - 1];
}

const World::Host& World::host(ProcessId process) const {
  return const_cast<World*>(this)->host(process);  // NOLINT: only the check is shared
}

}  // namespace godwit::fabric::sim
