#include "ref/access/view_cache.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace godwit::ref {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool ViewCache::Voucher::holds() const noexcept {
  const bool over = until != Clock::time_point{} && Clock::now() >= until;
  return !over && currency->holds(ticket);
}

// Ids are random.
std::size_t ViewCache::HandleHash::operator()(const Handle& handle) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, handle.object.bytes.data(), sizeof hash);
  return hash;
}

ViewCache::Share& ViewCache::share_of(const Handle& handle) noexcept {
  return shares_[(HandleHash{}(handle) >> 32U) % kShares];
}

std::shared_ptr<const View> ViewCache::find(const Handle& handle) {
  Share& share = share_of(handle);
  std::shared_ptr<const View> gone;  // its end may send a message, and is not for under the lock
  const std::lock_guard lock(share.mutex);
  const auto place = share.entries.find(handle);
  if (place == share.entries.end()) return nullptr;
  Entry& entry = place->second;
  std::shared_ptr<const View> view = entry.kept != nullptr ? entry.kept : entry.view.lock();
  if (entry.voucher.holds()) {
    entry.used = true;
    entry.again |= view == nullptr;
    return view;
  }
  gone = std::move(entry.kept);
  share.entries.erase(place);
  return nullptr;
}

void ViewCache::add(const Handle& handle, const std::shared_ptr<const View>& view,
                    Voucher voucher) {
  Share& share = share_of(handle);
  Entry before;
  const std::lock_guard lock(share.mutex);
  if (share.entries.size() >= kMaxViews / kShares && !share.entries.contains(handle)) return;
  Entry& entry = share.entries[handle];
  const bool keeps = view->bytes.size() < kManyBytes || entry.again;
  before = std::exchange(entry, {.kept = keeps ? view : nullptr,
                                 .view = view,
                                 .voucher = std::move(voucher),
                                 .again = entry.again});
}

template <class Goes>
bool ViewCache::let_go(Share& share, const Goes& goes) {
  std::vector<Entry> gone;  // as above
  const std::lock_guard lock(share.mutex);
  for (auto entry = share.entries.begin(); entry != share.entries.end();) {
    if (!goes(entry->first, entry->second)) {
      ++entry;
      continue;
    }
    gone.push_back(std::move(entry->second));
    entry = share.entries.erase(entry);
  }
  return !share.entries.empty();
}

void ViewCache::drop(const Handle& handle) {
  Share& share = share_of(handle);
  Entries::node_type gone;  // as above
  const std::lock_guard lock(share.mutex);
  gone = share.entries.extract(handle);
}

void ViewCache::forget(NodeId home) {
  for (Share& share : shares_) {
    let_go(share, [&](const Handle& handle, const Entry&) { return handle.home == home.value; });
  }
}

bool ViewCache::sweep() {
  bool some = false;
  for (Share& share : shares_) {
    some |= let_go(share, [](const Handle&, Entry& entry) {
      const bool in_use = entry.kept == nullptr && !entry.view.expired();
      return !std::exchange(entry.used, false) && !in_use;
    });
  }
  return some;
}

}  // namespace godwit::ref
