#include "trace/events.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace godwit::trace {

EventRing::EventRing(std::size_t capacity)
    : mask_(std::bit_ceil(std::clamp<std::size_t>(capacity, 1, kMaxCapacity)) - 1),
      slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

void EventRing::record(std::string_view name, std::uint32_t track, Time start, Duration duration,
                       std::uint64_t argument) noexcept {
  std::array<std::uint64_t, kNameWords> words{};
  const std::string_view kept = name.substr(0, Event::kNameLimit);
  if (!kept.empty()) std::memcpy(words.data(), kept.data(), kept.size());

  const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = slots_[index & mask_];
  std::uint64_t turn = slot.turn.load(std::memory_order_relaxed);
  const std::uint64_t complete = 2 * (index + 1);
  if (turn % 2 != 0 || turn > complete ||
      !slot.turn.compare_exchange_strong(turn, complete - 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot.start.store(static_cast<std::uint64_t>(start.ns), std::memory_order_release);
  slot.duration.store(static_cast<std::uint64_t>(duration.count()), std::memory_order_release);
  slot.track.store(track, std::memory_order_release);
  slot.argument.store(argument, std::memory_order_release);
  for (std::size_t i = 0; i < kNameWords; ++i) {
    slot.name[i].store(words[i], std::memory_order_release);
  }
  slot.turn.store(complete, std::memory_order_release);
}

std::vector<Event> EventRing::snapshot() const {
  std::vector<Event> events;
  const std::uint64_t end = next_.load(std::memory_order_acquire);
  const std::uint64_t begin = end > capacity() ? end - capacity() : 0;
  events.reserve(static_cast<std::size_t>(end - begin));
  for (std::uint64_t index = begin; index < end; ++index) {
    const Slot& slot = slots_[index & mask_];
    const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn != 2 * (index + 1)) continue;
    Event event;
    event.start.ns = static_cast<std::int64_t>(slot.start.load(std::memory_order_acquire));
    event.duration =
        Duration(static_cast<std::int64_t>(slot.duration.load(std::memory_order_acquire)));
    event.track = static_cast<std::uint32_t>(slot.track.load(std::memory_order_acquire));
    event.argument = slot.argument.load(std::memory_order_acquire);
    std::array<std::uint64_t, kNameWords> words{};
    for (std::size_t i = 0; i < kNameWords; ++i) {
      words[i] = slot.name[i].load(std::memory_order_acquire);
    }
    if (slot.turn.load(std::memory_order_relaxed) != turn) continue;
    std::array<char, Event::kNameLimit> name{};
    std::memcpy(name.data(), words.data(), name.size());
    event.name.assign(name.data(), strnlen(name.data(), name.size()));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace godwit::trace
