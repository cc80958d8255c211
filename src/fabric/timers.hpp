// Timers of one reactor: a binary heap with lazy removal. Not thread-safe: the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/scheduler.hpp"
#include "base/task.hpp"

namespace godwit::fabric {

// Adding costs O(log n), cancelling O(1) amortised; cancelled entries leave the heap when they
// outnumber the live ones, so memory follows the live timers.
class Timers {
 public:
  [[nodiscard]] TimerId add(Time when, Task task);
  void cancel(TimerId timer);
  // Runs what is due at `now`, in order of time and, among equals, of adding. Tasks may add and
  // cancel; what they add runs in a later call. Returns how many ran.
  std::size_t run_due(Time now);
  // When the next live timer is due; a far future when there is none.
  [[nodiscard]] Time next_due();
  [[nodiscard]] std::size_t size() const { return live_; }
  // Cancelled ones that have not left yet included.
  [[nodiscard]] std::size_t entries() const { return heap_.size(); }

 private:
  struct Entry {
    Time when;
    std::uint64_t sequence;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Slot {
    Task task;
    std::uint32_t generation = 1;
    bool used = false;
  };

  [[nodiscard]] bool is_live(const Entry& entry) const {
    return slots_[entry.slot].generation == entry.generation;
  }
  Task take(std::uint32_t slot);
  void pop();
  void drop_cancelled();
  void compact();

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_sequence_ = 0;
  std::size_t live_ = 0;
};

}  // namespace godwit::fabric
