#include "ref/access/kept_views.hpp"

#include <utility>

#include "call/caller.hpp"

namespace godwit::ref {

std::uint64_t ObjectAccess::KeptViews::wants_voucher(NodeId home) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    Home& at = homes_[home];
    if (at.currency != nullptr) return 1;
    if (++at.questions != 2 || std::exchange(at.mapping, true)) return 0;
  }
  // A home that does not share its words, over tcp for example, is not asked again.
  auto currency = host_.map_currency(home, kPatience);
  const std::lock_guard lock(mutex_);
  const auto place = homes_.find(home);
  if (!currency || closed_ || place == homes_.end()) return 0;
  place->second.currency = *std::move(currency);
  return 1;
}

std::shared_ptr<const HomeCurrency> ObjectAccess::KeptViews::currency_of(NodeId home) {
  const std::lock_guard lock(mutex_);
  const auto place = homes_.find(home);
  return place == homes_.end() ? nullptr : place->second.currency;
}

void ObjectAccess::KeptViews::keep(const Handle& handle, const std::shared_ptr<const View>& view,
                                   const std::optional<wire::VoucherTerms>& voucher,
                                   std::chrono::steady_clock::time_point asked_at) {
  if (!voucher || voucher->time_left_ns == 0) return;
  ViewCache::Voucher kept{.currency = currency_of(NodeId{handle.home}), .ticket = voucher->ticket};
  if (kept.currency == nullptr) return;
  if (voucher->time_left_ns > 0) {
    kept.until = asked_at + std::chrono::nanoseconds(voucher->time_left_ns);
  }
  views_.add(handle, view, std::move(kept));
  const std::lock_guard lock(mutex_);
  arm();
}

// With the mutex held. Only the owner of the reactor may set a timer.
void ObjectAccess::KeptViews::arm() {
  if (closed_ || std::exchange(armed_, true)) return;
  fabric::Reactor& reactor = host_.caller().reactor();
  reactor.post([self = weak_from_this(), &reactor] {
    reactor.post_at(reactor.now() + kSweepEvery, [self] {
      const auto alive = self.lock();
      if (alive == nullptr) return;
      const bool more = alive->views_.sweep();
      const std::lock_guard lock(alive->mutex_);
      alive->armed_ = false;
      if (more) alive->arm();
    });
  });
}

void ObjectAccess::KeptViews::forget(NodeId home) {
  {
    const std::lock_guard lock(mutex_);
    homes_.erase(home);
  }
  views_.forget(home);
}

void ObjectAccess::KeptViews::close() {
  std::unordered_map<NodeId, Home> homes;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    homes.swap(homes_);
  }
  for (const auto& [home, at] : homes) views_.forget(home);
}

}  // namespace godwit::ref
