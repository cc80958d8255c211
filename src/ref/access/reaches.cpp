#include "ref/access/reaches.hpp"

#include <sched.h>

#include <utility>

namespace godwit::ref {

// A thread that is moved meanwhile meets others; that is all.
Reaches::Core& Reaches::this_core() noexcept {
  const int core = ::sched_getcpu();
  return cores_[core < 0 ? 0 : static_cast<std::size_t>(core) % kCores];
}

Reaches::Pointer Reaches::find(NodeId home) {
  Core& core = this_core();
  const std::lock_guard lock(core.mutex);
  Place& place = place_in(core, home);
  if (place.reach == nullptr || place.reach->home != home) return nullptr;
  place.used = true;
  return place.reach;
}

void Reaches::keep(Pointer reach) {
  Core& core = this_core();
  const std::lock_guard lock(core.mutex);
  Place& place = place_in(core, reach->home);
  place.reach.swap(reach);  // what was there may unmap memory as it goes, after the lock
  place.used = true;
}

void Reaches::forget(NodeId home) {
  for (Core& core : cores_) {
    Pointer gone;
    const std::lock_guard lock(core.mutex);
    Place& place = place_in(core, home);
    if (place.reach != nullptr && place.reach->home == home) gone.swap(place.reach);
  }
}

bool Reaches::sweep() {
  bool some = false;
  for (Core& core : cores_) {
    std::array<Pointer, kHomesAtOnce> gone;
    const std::lock_guard lock(core.mutex);
    for (std::size_t i = 0; i < kHomesAtOnce; ++i) {
      Place& place = core.places[i];
      if (!std::exchange(place.used, false)) gone[i].swap(place.reach);
      some |= place.reach != nullptr;
    }
  }
  return some;
}

}  // namespace godwit::ref
