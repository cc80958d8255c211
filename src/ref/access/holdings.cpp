#include "ref/access/holdings.hpp"

#include <utility>

#include "call/caller.hpp"
#include "ref/access/run_later.hpp"

namespace godwit::ref {

void ObjectAccess::Holdings::add(NodeId home) {
  const std::lock_guard lock(mutex_);
  ++homes_[home].held;
  arm(renew_armed_, kRenewEvery, &Holdings::renew);
}

void ObjectAccess::Holdings::remove(NodeId home) {
  const std::lock_guard lock(mutex_);
  Home& at = homes_[home];
  if (at.held > 0) --at.held;
}

void ObjectAccess::Holdings::release(NodeId home, std::uint64_t pin, std::uint64_t bytes) {
  std::vector<std::uint64_t> full;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    Home& at = homes_[home];
    if (at.held > 0) --at.held;
    at.pins.push_back(pin);
    if (at.pins.size() < kPinsPerMessage && bytes < kManyBytes) {
      return arm(flush_armed_, kFlushAfter, &Holdings::flush);
    }
    full.swap(at.pins);
    at.pins.reserve(kPinsPerMessage);
  }
  send_pins(home, std::move(full));
}

void ObjectAccess::Holdings::send_pins(NodeId home, std::vector<std::uint64_t> pins) {
  const Bytes tail = std::as_bytes(std::span(pins));
  start(asking_, {.home = home, .op = wire::ObjectOp::release, .tail = {&tail, 1}}, Ask::at_once)
      .detach();
}

// With the mutex held.
void ObjectAccess::Holdings::arm(bool& armed, Duration after, void (Holdings::*then)()) {
  if (closed_ || std::exchange(armed, true)) return;
  run_later(asking_.caller.reactor(), after, weak_from_this(), then);
}

// With the mutex held.
void ObjectAccess::Holdings::forget_empty() {
  std::erase_if(homes_, [](const auto& entry) {
    return entry.second.is_empty() && !entry.second.insist_until;
  });
}

void ObjectAccess::Holdings::flush() {
  std::vector<std::pair<NodeId, std::vector<std::uint64_t>>> all;
  {
    const std::lock_guard lock(mutex_);
    flush_armed_ = false;
    for (auto& [home, at] : homes_) {
      if (!at.pins.empty()) all.emplace_back(home, std::exchange(at.pins, {}));
    }
    forget_empty();
  }
  for (auto& [home, pins] : all) send_pins(home, std::move(pins));
}

void ObjectAccess::Holdings::renew() {
  std::vector<NodeId> homes;
  {
    const std::lock_guard lock(mutex_);
    renew_armed_ = false;
    for (const auto& [home, at] : homes_) {
      if (at.held > 0) homes.push_back(home);
    }
    if (!homes.empty()) arm(renew_armed_, kRenewEvery, &Holdings::renew);
  }
  for (const NodeId home : homes) {
    start(asking_, {.home = home, .op = wire::ObjectOp::renew}, Ask::at_once).detach();
  }
}

void ObjectAccess::Holdings::lost(NodeId home) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  Home& at = homes_[home];  // a thread may be about to hold what an answer on that link gave it
  at.insist_until = asking_.caller.reactor().now() + kInsistFor;
  at.renewal = {};  // whatever it was told before, over that link
  arm(insist_armed_, Duration{}, &Holdings::insist);
}

// With the mutex held.
ObjectAccess::Holdings::Insists ObjectAccess::Holdings::insists(Home& at, Time now) {
  if (!at.insist_until) return Insists::no;
  const bool ended = !at.renewal || at.renewal.ended();
  const bool told = at.renewal && ended && at.renewal.ok();
  if (told || now >= *at.insist_until) {
    at.insist_until.reset();
    at.renewal = {};
    return Insists::no;
  }
  return ended && at.held > 0 ? Insists::again : Insists::waits;
}

void ObjectAccess::Holdings::insist() {
  const std::lock_guard lock(mutex_);
  insist_armed_ = false;
  const Time now = asking_.caller.reactor().now();
  for (auto& [home, at] : homes_) {
    const Insists how = insists(at, now);
    if (how == Insists::no) continue;
    arm(insist_armed_, kInsistEvery, &Holdings::insist);
    if (how == Insists::again) {
      at.renewal =
          start(asking_, {.home = home, .op = wire::ObjectOp::renew, .time_left = kRenewEvery},
                Ask::at_once);
    }
  }
  forget_empty();
}

// A home that cannot be reached ends by itself what is left there.
void ObjectAccess::Holdings::close() {
  std::unordered_map<NodeId, Home> homes;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    homes.swap(homes_);
  }
  for (const auto& [home, at] : homes) {
    if (at.is_empty()) continue;
    start(asking_, {.home = home, .op = wire::ObjectOp::leave}, Ask::at_once).detach();
  }
}

}  // namespace godwit::ref
