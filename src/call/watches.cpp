#include "call/watches.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "call/incoming.hpp"
#include "godwit/sharding.hpp"

namespace godwit::call {
namespace {

std::uint64_t load(const void* word, std::uint32_t size) noexcept {
  switch (size) {
    case 1: return __atomic_load_n(static_cast<const std::uint8_t*>(word), __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n(static_cast<const std::uint16_t*>(word), __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n(static_cast<const std::uint32_t*>(word), __ATOMIC_ACQUIRE);
    default: return __atomic_load_n(static_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE);
  }
}

bool is_word(std::uint32_t size) noexcept {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

// Where the element is. Errors: as Watches::add().
Result<const void*> find_word(const godwit_region_v1& view, const wire::ChangeExtension& change) {
  if (!is_word(view.element_size) || view.element_size != change.element_size) {
    return fail(ErrorCode::type_mismatch,
                "the elements of region '{}' have {} bytes; one of {} is to be watched, and only "
                "1, 2, 4 or 8 can be",
                std::string_view(view.name, view.name_size), view.element_size,
                change.element_size);
  }
  if (change.index < view.elements && view.data != nullptr) {
    const ShardPlace place = ShardMap(view.map, view.placement).locate(change.index);
    if (place.shard == view.shard && place.offset < view.data_elements) {
      return static_cast<const std::byte*>(view.data) + place.offset * view.element_size;
    }
  }
  return fail(ErrorCode::invalid_argument, "element {} of region '{}' does not lie on this node",
              change.index, std::string_view(view.name, view.name_size));
}

}  // namespace

Result<std::optional<std::uint64_t>> Watches::add(Regions& regions, IncomingCall& call) {
  const wire::ChangeExtension& change = call.change;
  godwit_region_v1 view{};
  view.size = sizeof view;
  GODWIT_TRY(Regions::Pin pin, regions.view(change.region, {}, GODWIT_REGION_READ, view));
  GODWIT_TRY(const void* word, find_word(view, change));
  const std::uint64_t now = load(word, view.element_size);
  if (now != change.last_seen) return now;
  if (count_ >= kMax) {
    return fail(ErrorCode::resource_exhausted,
                "this node watches {} elements, the limit: let some of the watches end first",
                kMax);
  }
  Group& group = groups_[change.region];
  group.pin = std::move(pin);
  call.watched_at = group.watches.size() + 1;
  group.watches.push_back({word, change.last_seen, &call, view.element_size});
  ++count_;
  return std::nullopt;
}

void Watches::remove(IncomingCall& call) noexcept {
  if (call.watched_at == 0) return;
  const auto group = groups_.find(call.change.region);
  remove_at(group->second, call.watched_at - 1);
  forget_if_empty(call.change.region);
}

// The last one takes its place; if that was looked at already it is looked at again.
void Watches::remove_at(Group& group, std::size_t at) noexcept {
  group.watches[at].call->watched_at = 0;
  if (at < group.next) group.next = at;
  group.watches[at] = group.watches.back();
  group.watches.pop_back();
  if (at < group.watches.size()) group.watches[at].call->watched_at = at + 1;
  --count_;
}

void Watches::forget_if_empty(std::uint64_t region) noexcept {
  const auto group = groups_.find(region);
  if (!group->second.watches.empty()) return;
  std::erase(touched_, region);
  groups_.erase(group);
}

bool Watches::touch(std::uint64_t region) {
  const auto found = groups_.find(region);
  if (found == groups_.end()) return false;
  touch(region, found->second);
  return true;
}

// Whoever is touched all the time is still looked at to the end, and so are others.
void Watches::touch(std::uint64_t region, Group& group) {
  if (std::exchange(group.touched, true)) {
    group.again = group.again || group.next > 0;
    return;
  }
  group.next = 0;
  touched_.push_front(region);
}

bool Watches::touch_all() {
  for (auto& [region, group] : groups_) {
    touch(region, group);
  }
  return !groups_.empty();
}

std::vector<Watches::Changed> Watches::look() {
  std::vector<Changed> changed;
  std::size_t left = kWordsPerLook;
  while (left > 0 && !touched_.empty()) {
    const std::uint64_t region = touched_.back();
    Group& group = groups_.find(region)->second;
    while (left > 0 && group.next < group.watches.size()) {
      --left;
      const Watch& watch = group.watches[group.next];
      const std::uint64_t bits = load(watch.word, watch.size);
      if (bits == watch.last_seen) {
        ++group.next;
        continue;
      }
      changed.push_back({watch.call, bits});
      remove_at(group, group.next);
    }
    if (group.next < group.watches.size()) break;
    touched_.pop_back();
    group.touched = false;
    if (std::exchange(group.again, false)) touch(region, group);
    forget_if_empty(region);
  }
  return changed;
}

std::vector<Watches::Ended> Watches::end_lost(Regions& regions) {
  std::vector<Ended> ended;
  std::vector<std::uint64_t> gone;
  for (auto& [region, group] : groups_) {
    godwit_region_v1 view{};
    view.size = sizeof view;
    const auto pin = regions.view(region, {}, GODWIT_REGION_READ, view);
    if (pin) continue;
    gone.push_back(region);
    while (!group.watches.empty()) {
      ended.push_back({group.watches.back().call, pin.error()});
      remove_at(group, group.watches.size() - 1);
    }
  }
  for (const std::uint64_t region : gone) forget_if_empty(region);
  return ended;
}

std::vector<Watches::Ended> Watches::end_late(Time now) {
  std::vector<Ended> ended;
  for (auto& [region, group] : groups_) {
    for (const Watch& watch : group.watches) {
      if (watch.call->deadline >= now) continue;
      ended.push_back(
          {watch.call, {ErrorCode::deadline, "the deadline passed before the element changed"}});
    }
  }
  for (const Ended& one : ended) remove(*one.call);
  return ended;
}

}  // namespace godwit::call
