// Simulated time: runs events one after another and moves the clock between them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.hpp"
#include "fabric/sim/event_queue.hpp"

namespace godwit::fabric::sim {

class Timeline {
 public:
  // `options` and `random` belong to the world and outlive the timeline.
  Timeline(std::uint64_t seed, const Options& options, Random& random);

  [[nodiscard]] Time now() const noexcept { return now_; }
  // An event in the past is one of now. Events for a process that is dead are dropped.
  EventHandle schedule(Event event);
  EventHandle after(Duration delay, Event event);
  void cancel(EventHandle handle);
  // Runs the next event; false if none is waiting.
  bool step();
  [[nodiscard]] bool idle() const noexcept { return queue_.empty(); }
  [[nodiscard]] Time next_at() const noexcept { return queue_.next_at(); }
  // Moves the clock on to `when` if that is later. No event may be waiting for before then.
  void advance_to(Time when) noexcept;

  // True while an event runs: destroying a process's objects has to wait for its end.
  [[nodiscard]] bool stepping() const noexcept { return stepping_; }
  // Events for the process never run again; their tasks are moved out for the caller to destroy.
  void purge(Process& process, std::vector<Task>& tasks);
  // Destroys everything that waits.
  void clear();

  [[nodiscard]] Duration draw(Delay delay) noexcept;
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  void violation(std::string_view message) const;

 private:
  void run(EventHandle handle);
  void hold(EventHandle handle, Process& process);
  void take_turn(Process& process);

  const Options& options_;
  Random& random_;
  std::uint64_t seed_;
  EventQueue queue_;
  Time now_;
  std::uint64_t trace_hash_ = 0;
  std::uint64_t events_ = 0;
  bool stepping_ = false;
};

}  // namespace godwit::fabric::sim
