#include "ref/mappings.hpp"

#include <iterator>
#include <utility>

namespace godwit::ref {

Result<std::shared_ptr<const MappedSegment>> ObjectAccess::Mappings::get(const SegmentKey& key) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->segment;
    }
    const auto home = mappable_.find(key.home);
    if (home != mappable_.end() && !home->second) return nullptr;
  }
  auto mapped = host_.map(key, kPatience);
  const std::lock_guard lock(mutex_);
  if (!mapped) {
    if (mapped.error().code != ErrorCode::unsupported) return mapped;
    mappable_[key.home] = false;
    return nullptr;
  }
  mappable_[key.home] = true;
  // Somebody else may have mapped it meanwhile.
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second->segment;
  bytes_ += (*mapped)->size();
  entries_.push_front({key, *mapped});
  by_key_.emplace(key, entries_.begin());
  make_room();
  return mapped;
}

// With the mutex held.
void ObjectAccess::Mappings::make_room() {
  for (auto at = entries_.end(); at != entries_.begin();) {
    if (bytes_ <= kMaxBytes && entries_.size() <= kMaxSegments) return;
    --at;
    if (at->segment.use_count() > 1) continue;
    bytes_ -= at->segment->size();
    by_key_.erase(at->key);
    at = entries_.erase(at);
  }
}

}  // namespace godwit::ref
