#include "fabric/sim/event_queue.hpp"

#include <algorithm>

namespace godwit::fabric::sim {

EventHandle EventQueue::push(Event event) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  const Node node{event.at, next_sequence_++, index};
  slot.event = std::move(event);
  slot.used = true;
  heap_.emplace_back();
  place(heap_.size() - 1, node);
  sift_up(heap_.size() - 1);
  return {index, slot.generation};
}

EventHandle EventQueue::pop() {
  const std::uint32_t index = heap_.front().slot;
  remove(0);
  return {index, slots_[index].generation};
}

void EventQueue::release(EventHandle handle) {
  Slot& slot = slots_[handle.slot];
  slot.event = {};
  slot.used = false;
  ++slot.generation;
  free_.push_back(handle.slot);
}

Task EventQueue::cancel(EventHandle handle) {
  if (handle.slot >= slots_.size()) return {};
  Slot& slot = slots_[handle.slot];
  if (!slot.used || slot.generation != handle.generation) return {};
  Task task = std::move(slot.event.task);
  if (slot.position != kNotWaiting) {
    remove(slot.position);
    release(handle);
  }
  return task;
}

void EventQueue::purge(const Process* target, std::vector<Task>& tasks) {
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    if (!slot.used || slot.event.target != target) continue;
    if (Task task = cancel({index, slot.generation})) tasks.push_back(std::move(task));
  }
}

void EventQueue::place(std::size_t position, const Node& node) noexcept {
  heap_[position] = node;
  slots_[node.slot].position = static_cast<std::uint32_t>(position);
}

void EventQueue::sift_up(std::size_t position) noexcept {
  const Node node = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / kArity;
    if (!node.before(heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, node);
}

void EventQueue::sift_down(std::size_t position) noexcept {
  const Node node = heap_[position];
  for (;;) {
    const std::size_t first = position * kArity + 1;
    if (first >= heap_.size()) break;
    std::size_t best = first;
    for (std::size_t child = first + 1; child < std::min(first + kArity, heap_.size()); ++child) {
      if (heap_[child].before(heap_[best])) best = child;
    }
    if (!heap_[best].before(node)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, node);
}

void EventQueue::remove(std::size_t position) noexcept {
  slots_[heap_[position].slot].position = kNotWaiting;
  const Node last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  place(position, last);
  sift_down(position);
  sift_up(slots_[last.slot].position);
}

}  // namespace godwit::fabric::sim
