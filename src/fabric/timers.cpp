#include "fabric/timers.hpp"

#include <algorithm>
#include <utility>

namespace godwit::fabric {
namespace {

constexpr std::size_t kCompactAbove = 64;

struct Later {
  template <class Entry>
  bool operator()(const Entry& a, const Entry& b) const {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }
};

}  // namespace

TimerId Timers::add(Time when, Task task) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  slot.task = std::move(task);
  slot.used = true;
  ++live_;
  heap_.push_back({when, next_sequence_++, index, slot.generation});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
  return {static_cast<std::uint64_t>(slot.generation) << 32 | (index + 1U)};
}

void Timers::cancel(TimerId timer) {
  const auto index = static_cast<std::uint32_t>(timer.value) - 1U;
  const auto generation = static_cast<std::uint32_t>(timer.value >> 32);
  if (index >= slots_.size() || !slots_[index].used || slots_[index].generation != generation)
    return;
  take(index);  // the task dies here, with what it captured
  if (heap_.size() > kCompactAbove && heap_.size() > 2 * live_) compact();
}

std::size_t Timers::run_due(Time now) {
  const std::uint64_t before = next_sequence_;
  std::size_t ran = 0;
  for (drop_cancelled(); !heap_.empty() && heap_.front().when <= now; drop_cancelled()) {
    // A timer added by a task of this very call waits for the next one, so that the call ends.
    if (heap_.front().sequence >= before) break;
    Task task = take(heap_.front().slot);
    pop();
    task();
    ++ran;
  }
  return ran;
}

Time Timers::next_due() {
  drop_cancelled();
  return heap_.empty() ? Time{INT64_MAX} : heap_.front().when;
}

Task Timers::take(std::uint32_t index) {
  Slot& slot = slots_[index];
  ++slot.generation;
  slot.used = false;
  free_slots_.push_back(index);
  --live_;
  return std::move(slot.task);
}

void Timers::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  heap_.pop_back();
}

void Timers::drop_cancelled() {
  while (!heap_.empty() && !is_live(heap_.front())) pop();
}

void Timers::compact() {
  std::erase_if(heap_, [this](const Entry& entry) { return !is_live(entry); });
  std::make_heap(heap_.begin(), heap_.end(), Later{});
}

}  // namespace godwit::fabric
