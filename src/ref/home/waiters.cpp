#include "ref/home/waiters.hpp"

#include "base/fail.hpp"

namespace godwit::ref {

Status Waiters::add(const ObjectId& object, std::uint64_t newer_than, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (waiters_.size() >= kMaxWaiters) {
    return fail(ErrorCode::overload,
                "cannot wait for object {}: {} wait already; try again later, or stop others",
                object.short_hex(), waiters_.size());
  }
  const auto [place, added] = waiters_.try_emplace(number);
  if (!added) {
    return fail(ErrorCode::already_exists,
                "waiter {} cannot wait for object {}: it waits for object {}; give each wait a "
                "number of its own",
                number, object.short_hex(), place->second.object.short_hex());
  }
  Waiter& waiter = place->second;
  waiter.number = number;
  waiter.newer_than = newer_than;
  waiter.object = object;
  objects_[object].push_back(waiter);
  return {};
}

void Waiters::remove(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto place = waiters_.find(number);
  if (place == waiters_.end()) return;
  const auto object = objects_.find(place->second.object);
  object->second.remove(place->second);
  if (object->second.empty()) objects_.erase(object);
  waiters_.erase(place);
}

bool Waiters::take(const ObjectId& id, std::uint64_t version, std::vector<std::uint64_t>& ready) {
  const std::lock_guard lock(mutex_);
  const auto object = objects_.find(id);
  if (object == objects_.end()) return false;
  object->second.for_each([&](Waiter& waiter) {
    if (waiter.newer_than >= version) return;
    object->second.remove(waiter);
    ready.push_back(waiter.number);
    waiters_.erase(waiter.number);
  });
  if (!object->second.empty()) return true;
  objects_.erase(object);
  return false;
}

std::size_t Waiters::size() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace godwit::ref
