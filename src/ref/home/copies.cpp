#include "ref/home/copies.hpp"

namespace godwit::ref {

std::optional<Handle> Copies::find(const Handle& original) const {
  if (count_.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto place = all_.find(original.object);
  if (place == all_.end() || place->second.original != original) return std::nullopt;
  return place->second.copy;
}

bool Copies::add(const Handle& original, const Handle& copy) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= kMax && !all_.contains(original.object)) return false;
  all_.insert_or_assign(original.object, Copy{original, copy});
  count_.store(all_.size(), std::memory_order_relaxed);
  return true;
}

void Copies::forget(const Handle& original, const Handle& copy) {
  const std::lock_guard lock(mutex_);
  const auto place = all_.find(original.object);
  if (place == all_.end() || place->second.copy != copy) return;
  all_.erase(place);
  count_.store(all_.size(), std::memory_order_relaxed);
}

}  // namespace godwit::ref
