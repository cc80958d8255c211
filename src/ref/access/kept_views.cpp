#include "ref/access/kept_views.hpp"

#include <utility>

#include "call/caller.hpp"
#include "ref/access/run_later.hpp"

namespace godwit::ref {

ObjectAccess::Vouching ObjectAccess::KeptViews::vouching(NodeId home) {
  auto words = words_of(home);  // mapping them takes its time
  return {std::move(words), Clock::now()};
}

std::shared_ptr<const HomeCurrency> ObjectAccess::KeptViews::words_of(NodeId home) {
  std::uint64_t entry = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return nullptr;
    Home& at = homes_[home];
    if (at.currency != nullptr) return at.currency;
    if (at.number == 0) at.number = ++entries_;
    entry = at.number;
    if (++at.questions != 2 || std::exchange(at.mapping, true)) return nullptr;
  }
  // A home that does not share its words, over tcp for example, is not asked again.
  auto currency = host_.map_currency(home, kPatience);
  const std::lock_guard lock(mutex_);
  const auto place = homes_.find(home);
  if (!currency || closed_ || place == homes_.end() || place->second.number != entry) {
    return nullptr;
  }
  return place->second.currency = *std::move(currency);
}

std::optional<ObjectAccess::KeptViews::Shown> ObjectAccess::KeptViews::shown(const Handle& handle) {
  if (handle.size > Currency::kMaxShownBytes) return std::nullopt;
  Reaches::Pointer reach = reaches_.find(NodeId{handle.home});
  if (reach != nullptr) {
    if (const auto place = reach->currency->find(handle)) return Shown{std::move(reach), *place};
  }
  std::shared_ptr<const HomeCurrency> currency;
  {
    const std::lock_guard lock(mutex_);
    const auto home = homes_.find(NodeId{handle.home});
    if (home == homes_.end() || home->second.currency == nullptr) return std::nullopt;
    currency = home->second.currency;
  }
  // Otherwise the home was started anew since.
  if (reach != nullptr && reach->currency == currency) return std::nullopt;
  const auto place = currency->find(handle);
  if (!place) return std::nullopt;
  return Shown{
      std::make_shared<const Reach>(Reach{NodeId{handle.home}, std::move(currency), 0, nullptr}),
      *place};
}

void ObjectAccess::KeptViews::reached(const Shown& shown, SegmentMap::Mapped memory) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    arm();
  }
  reaches_.keep(std::make_shared<const Reach>(
      Reach{shown.reach->home, shown.reach->currency, shown.place.segment, std::move(memory)}));
}

void ObjectAccess::KeptViews::keep_if_again(const std::shared_ptr<const View>& view,
                                            const Shown& shown) {
  const std::uint64_t proof = shown.place.proof;
  auto& copied = copied_[proof % copied_.size()];
  if (copied.load(std::memory_order_relaxed) != proof) {
    copied.store(proof, std::memory_order_relaxed);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    arm();
  }
  views_.add(view->handle, view, {.currency = shown.reach->currency, .ticket = shown.place.ticket});
}

void ObjectAccess::KeptViews::keep(const Handle& handle, const std::shared_ptr<const View>& view,
                                   const std::optional<wire::VoucherTerms>& voucher,
                                   const Vouching& asked) {
  if (!voucher) return;
  if (auto kept = begin_keeping(*voucher, asked)) views_.add(handle, view, *std::move(kept));
}

void ObjectAccess::KeptViews::keep_put(std::shared_ptr<const View> view,
                                       const wire::VoucherTerms& voucher, const Vouching& asked) {
  if (auto kept = begin_keeping(voucher, asked)) put_.add(std::move(view), *std::move(kept));
}

std::optional<ViewCache::Voucher> ObjectAccess::KeptViews::begin_keeping(
    const wire::VoucherTerms& voucher, const Vouching& asked) {
  if (voucher.time_left_ns == 0 || asked.currency == nullptr) return std::nullopt;
  ViewCache::Voucher kept{.currency = asked.currency, .ticket = voucher.ticket};
  if (voucher.time_left_ns > 0) {
    kept.until = asked.asked_at + std::chrono::nanoseconds(voucher.time_left_ns);
  }
  const std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  arm();
  return kept;
}

// With the mutex held.
void ObjectAccess::KeptViews::arm() {
  if (closed_ || std::exchange(armed_, true)) return;
  run_later(host_.caller().reactor(), kSweepEvery, weak_from_this(), &KeptViews::sweep);
}

void ObjectAccess::KeptViews::sweep() {
  const bool views = views_.sweep();
  const bool put = put_.sweep();
  const bool reaches = reaches_.sweep();
  const std::lock_guard lock(mutex_);
  armed_ = false;
  if (views || put || reaches) arm();
}

void ObjectAccess::KeptViews::forget(NodeId home) {
  {
    const std::lock_guard lock(mutex_);
    homes_.erase(home);
  }
  views_.forget(home);
  put_.forget(home);
  reaches_.forget(home);
}

void ObjectAccess::KeptViews::close() {
  std::unordered_map<NodeId, Home> homes;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    homes.swap(homes_);
  }
  for (const auto& [home, at] : homes) {
    views_.forget(home);
    put_.forget(home);
    reaches_.forget(home);
  }
}

}  // namespace godwit::ref
