// The events of a simulated world, ordered by time and then by the order of their making.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/task.hpp"
#include "fabric/sim/options.hpp"

namespace godwit::fabric::sim {

class Process;

struct Event {
  Time at{};
  What what = What::task;
  Process* target = nullptr;  // null: the world itself
  LinkId link{};
  std::uint64_t detail = 0;
  Task task{};  // empty once cancelled
};

// Names an event until it is released; stale handles are recognised.
struct EventHandle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: none
};

// A 4-ary heap over pooled slots: once the pool has grown, pushing and popping allocate nothing.
// push, pop and cancel cost O(log waiting).
class EventQueue {
 public:
  EventHandle push(Event event);
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  [[nodiscard]] Time next_at() const noexcept { return heap_.front().at; }

  // Takes the first event out of the order. Its slot, and so the power to cancel it, lasts until
  // release(): a slow process keeps events for a while before they run.
  [[nodiscard]] EventHandle pop();
  [[nodiscard]] Event& at(EventHandle handle) noexcept { return slots_[handle.slot].event; }
  void release(EventHandle handle);

  // Gives back the task of a waiting or kept event, or an empty one if the handle is stale.
  Task cancel(EventHandle handle);

  // Moves the tasks of all events for `target` out to `tasks`; the events never run. Costs O(all
  // slots).
  void purge(const Process* target, std::vector<Task>& tasks);

 private:
  static constexpr std::uint32_t kNotWaiting = UINT32_MAX;
  static constexpr std::size_t kArity = 4;
  struct Slot {
    Event event;
    std::uint32_t generation = 1;
    std::uint32_t position = kNotWaiting;  // in heap_
    bool used = false;
  };
  struct Node {
    Time at;
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
    [[nodiscard]] bool before(const Node& other) const noexcept {
      return std::pair(at.ns, sequence) < std::pair(other.at.ns, other.sequence);
    }
  };

  void place(std::size_t position, const Node& node) noexcept;
  void sift_up(std::size_t position) noexcept;
  void sift_down(std::size_t position) noexcept;
  void remove(std::size_t position) noexcept;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Node> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace godwit::fabric::sim
