// What is to happen when: a heap of times whose items know their places, so that a time can be
// changed or forgotten without leaving anything behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/scheduler.hpp"

namespace godwit::ref {

inline constexpr Time kNever{INT64_MAX};

// Saturates: a lease of "for ever" is one.
[[nodiscard]] constexpr Time after(Time now, Duration wait) noexcept {
  if (wait.count() >= kNever.ns - now.ns) return kNever;
  return {now.ns + wait.count()};
}

struct TimeHook {
  Time at = kNever;
  std::size_t place = 0;  // in the heap, where `at` is not kNever
};

// T derives from TimeHook; does not own. Not thread-safe. Logarithmic in what is on it.
template <class T>
class TimeHeap {
 public:
  // kNever takes it off.
  void set(T& item, Time at) {
    if (item.at == at) return;
    if (at == kNever) return take_off(item);
    if (item.at == kNever) {
      item.place = items_.size();
      items_.push_back(&item);
    }
    item.at = at;
    settle(item.place);
  }
  // The earliest one, if its time has come; null otherwise.
  [[nodiscard]] T* due(Time now) const noexcept {
    return !items_.empty() && items_.front()->at <= now ? items_.front() : nullptr;
  }
  [[nodiscard]] Time next() const noexcept { return items_.empty() ? kNever : items_.front()->at; }

 private:
  void take_off(T& item) {
    const std::size_t place = item.place;
    item.at = kNever;
    T* last = items_.back();
    items_.pop_back();
    if (last == &item) return;
    items_[place] = last;
    last->place = place;
    settle(place);
  }
  void settle(std::size_t place) {
    while (place > 0 && earlier(place, (place - 1) / 2)) place = swap_with(place, (place - 1) / 2);
    for (;;) {
      const std::size_t left = 2 * place + 1;
      if (left >= items_.size()) return;
      const std::size_t right = left + 1;
      const std::size_t child = right < items_.size() && earlier(right, left) ? right : left;
      if (!earlier(child, place)) return;
      place = swap_with(place, child);
    }
  }
  [[nodiscard]] bool earlier(std::size_t a, std::size_t b) const noexcept {
    return items_[a]->at < items_[b]->at;
  }
  std::size_t swap_with(std::size_t place, std::size_t other) noexcept {
    std::swap(items_[place], items_[other]);
    items_[place]->place = place;
    items_[other]->place = other;
    return other;
  }

  std::vector<T*> items_;
};

}  // namespace godwit::ref
