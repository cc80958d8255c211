#include "ref/access/recent_views.hpp"

#include <utility>

namespace godwit::ref {

std::shared_ptr<const View> RecentViews::find(const Handle& handle) {
  Place& place = place_of(handle);
  if (place.mac.load(std::memory_order_relaxed) != handle.mac) return nullptr;
  const std::lock_guard lock(place.mutex);
  if (place.view == nullptr || place.view->handle != handle || !place.voucher.holds()) {
    return nullptr;
  }
  place.used = true;
  return place.view;
}

void RecentViews::add(std::shared_ptr<const View> view, ViewCache::Voucher voucher) {
  Place& place = place_of(view->handle);
  const std::lock_guard lock(place.mutex);
  place.mac.store(view->handle.mac, std::memory_order_relaxed);
  place.view.swap(view);  // the other one goes after the lock
  place.voucher = std::move(voucher);
  place.used = true;
}

template <class Goes>
bool RecentViews::let_go(const Goes& goes) {
  bool some = false;
  for (Place& place : places_) {
    std::shared_ptr<const View> gone;
    const std::lock_guard lock(place.mutex);
    if (place.view != nullptr && goes(place)) {
      gone.swap(place.view);
      place.voucher = {};
    }
    some |= place.view != nullptr;
  }
  return some;
}

void RecentViews::forget(NodeId home) {
  let_go([&](const Place& place) { return place.view->handle.home == home.value; });
}

bool RecentViews::sweep() {
  return let_go([](Place& place) { return !std::exchange(place.used, false); });
}

}  // namespace godwit::ref
