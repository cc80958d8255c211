#include "call/kept_bundles.hpp"

#include <algorithm>
#include <iterator>

namespace godwit::call {

void KeptBundles::add(const code::Bundle& bundle) {
  auto [known, is_new] = by_id_.try_emplace(bundle.id());
  if (is_new) known->second = entries_.insert(entries_.end(), {bundle.id(), {}, {}});
  Entry& entry = *known->second;
  // The same file may have been opened several times, and any of the copies may be the last.
  std::erase_if(entry.held, [](const auto& weak) { return weak.expired(); });
  const bool seen = std::any_of(entry.held.begin(), entry.held.end(),
                                [&](const auto& weak) { return weak.is_of(bundle); });
  if (!seen) entry.held.emplace_back(bundle);
  if (!entry.kept) {
    entry.kept = bundle;
    bytes_ += bundle.memory_bytes();
  }
  touch(known->second);
  keep_within_limits();
}

code::Bundle KeptBundles::find(const ContentId& id) {
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) return {};
  touch(known->second);
  const Entry& entry = *known->second;
  if (entry.kept) return entry.kept;
  for (const auto& weak : entry.held) {
    if (code::Bundle held = weak.lock()) return held;
  }
  return {};
}

void KeptBundles::touch(Entries::iterator entry) {
  entries_.splice(entries_.end(), entries_, entry);
}

// Costs a look at each bundle that is held elsewhere and older than the ones that go; adding one is
// rare.
void KeptBundles::keep_within_limits() {
  for (auto it = entries_.begin(); it != std::prev(entries_.end());) {
    if (bytes_ <= limits_.max_bytes && entries_.size() <= limits_.max_bundles) return;
    Entry& entry = *it;
    if (entry.kept) {
      bytes_ -= entry.kept.memory_bytes();
      entry.kept = {};
    }
    const bool held = std::any_of(entry.held.begin(), entry.held.end(),
                                  [](const auto& weak) { return !weak.expired(); });
    if (held) {
      ++it;
      continue;
    }
    by_id_.erase(entry.id);
    it = entries_.erase(it);
  }
}

}  // namespace godwit::call
