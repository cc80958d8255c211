#include "trace/repeat_filter.hpp"

#include <functional>

namespace godwit::trace {

void RepeatFilter::report(Slot& slot, std::vector<Report>& reports) {
  if (slot.held_back > 0) reports.push_back({slot.kind, slot.held_back});
  slot.held_back = 0;
}

bool RepeatFilter::admit(std::string_view kind, Time now, std::vector<Report>& reports) {
  const std::size_t hash = std::hash<std::string_view>{}(kind);
  Slot& slot = slots_[hash % kSlots];
  const bool same_kind = slot.written > 0 && slot.hash == hash;
  if (!same_kind || now - slot.opened >= window_) {
    report(slot, reports);
    if (!same_kind) slot.kind = kind.substr(0, kKindLimit);
    slot.hash = hash;
    slot.opened = now;
    slot.written = 0;
  }
  if (slot.written < limit_) {
    ++slot.written;
    return true;
  }
  ++slot.held_back;
  return false;
}

std::vector<RepeatFilter::Report> RepeatFilter::drain() {
  std::vector<Report> reports;
  for (Slot& slot : slots_) report(slot, reports);
  return reports;
}

}  // namespace godwit::trace
