// One start of a simulated process: the scheduler its code sees. It stays in memory, dead, after a
// crash, so that objects of the dead process may still hold a reference to it.
#pragma once

#include <deque>

#include "base/scheduler.hpp"
#include "fabric/sim/timeline.hpp"
#include "fabric/transport.hpp"

namespace godwit::fabric::sim {

class Process final : public Scheduler {
 public:
  Process(Timeline& timeline, const Options& options, ProcessId id, Epoch epoch)
      : timeline_(timeline), options_(options), id_(id), epoch_(epoch) {}

  [[nodiscard]] ProcessId id() const noexcept { return id_; }
  [[nodiscard]] Epoch epoch() const noexcept { return epoch_; }
  [[nodiscard]] bool alive() const noexcept { return alive_; }
  void die() noexcept { alive_ = false; }

  [[nodiscard]] Time now() const override { return timeline_.now(); }
  void post(Task task) override;
  TimerId post_at(Time when, Task task) override;
  void cancel(TimerId timer) override;
  void offload(Task work, Task done) override;

  // What the timeline keeps per process: each event occupies it for event_cost.
  struct Pace {
    Duration event_cost{0};
    Time busy_until;
    std::deque<EventHandle> held;  // events whose time has come while it was busy, in order
  };
  [[nodiscard]] Pace& pace() noexcept { return pace_; }

  // What the network keeps per process: null while the process has no transport.
  struct Port {
    TransportEvents* events = nullptr;
    Hello hello;
    bool listening = false;
  };
  [[nodiscard]] Port& port() noexcept { return port_; }

 private:
  Timeline& timeline_;
  const Options& options_;
  ProcessId id_;
  Epoch epoch_;
  bool alive_ = true;
  Pace pace_;
  Port port_;
};

}  // namespace godwit::fabric::sim
