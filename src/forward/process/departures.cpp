#include "forward/process/departures.hpp"

#include <algorithm>
#include <utility>

namespace godwit::forward {

std::uint32_t Departures::add(detail::Chunk* chunk, const ChunkWire& wire) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t ticket = free_.back();
  free_.pop_back();
  entries_[ticket] = {.chunk = chunk, .wire = wire};
  return ticket;
}

void Departures::sent(std::uint32_t ticket) {
  entries_[ticket].borrowed = false;
  settle(ticket);
}

bool Departures::returned(std::uint32_t ticket) {
  if (ticket >= entries_.size() || !entries_[ticket].owed) return false;
  entries_[ticket].owed = false;
  settle(ticket);
  return true;
}

void Departures::settle(std::uint32_t ticket) {
  Entry& entry = entries_[ticket];
  if (entry.borrowed || entry.owed) return;
  give_back(std::exchange(entry.chunk, nullptr));
  free_.push_back(ticket);
}

std::size_t Departures::under_way() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return entry.borrowed; }));
}

void Departures::give_all_back() noexcept {
  for (Entry& entry : entries_) {
    if (entry.chunk != nullptr) give_back(entry.chunk);
  }
  entries_.clear();
  free_.clear();
}

}  // namespace godwit::forward
