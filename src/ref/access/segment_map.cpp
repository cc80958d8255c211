#include "ref/access/segment_map.hpp"

#include <iterator>
#include <utility>

#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit::ref {

std::size_t SegmentMap::KeyHash::operator()(const SegmentKey& key) const noexcept {
  return static_cast<std::size_t>(mix64(
      key.home.value ^ mix64(key.segment * 2 + (key.access == fabric::Access::write ? 1 : 0))));
}

SegmentMap::Mapped SegmentMap::find_held(const SegmentKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, found->second);
  return found->second->mapped;
}

SegmentMap::Mapped SegmentMap::find(const SegmentKey& key) {
  const std::lock_guard lock(mutex_);
  return find_held(key);
}

SegmentMap::Mapped SegmentMap::take_out(Entries::iterator entry) {
  Mapped mapped = std::move(entry->mapped);
  bytes_ -= mapped->size();
  by_key_.erase(entry->key);
  entries_.erase(entry);
  return mapped;
}

// Whatever only this map has, nobody can get hold of while the lock is held.
Status SegmentMap::make_room(std::size_t size, std::vector<Mapped>& taken) {
  const auto fits = [&] {
    return entries_.size() < options_.max_mappings && size <= options_.max_bytes &&
           bytes_ <= options_.max_bytes - size;
  };
  for (auto entry = entries_.begin(); !fits() && entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->mapped.use_count() == 1) taken.push_back(take_out(entry));
    entry = next;
  }
  if (fits()) return {};
  return fail(ErrorCode::resource_exhausted,
              "cannot map another segment of {} bytes: {} with {} bytes are in use, and the limits "
              "are {} and {} bytes; let go of objects",
              size, entries_.size(), bytes_, options_.max_mappings, options_.max_bytes);
}

Result<SegmentMap::Mapped> SegmentMap::map(const SegmentKey& key, const fabric::Fd& memory,
                                           std::size_t size) {
  GODWIT_CHECK(fabric::check_memory(memory.get(), size));
  if (Mapped mapped = find(key)) return mapped;
  const auto pages =
      key.access == fabric::Access::write ? fabric::Pages::now : fabric::Pages::on_demand;
  GODWIT_TRY(fabric::Mapping mapping, fabric::map_memory(memory.get(), size, key.access, pages));
  Mapped made = std::make_shared<const MappedSegment>(std::move(mapping));
  std::vector<Mapped> taken;  // unmapped after the lock is gone
  const std::lock_guard lock(mutex_);
  if (Mapped mapped = find_held(key)) return mapped;  // another thread was quicker
  GODWIT_CHECK(make_room(size, taken));
  entries_.push_back({key, made});
  by_key_.emplace(key, std::prev(entries_.end()));
  bytes_ += size;
  return made;
}

void SegmentMap::forget(const SegmentKey& key) {
  Mapped taken;
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) taken = take_out(found->second);
}

void SegmentMap::forget_home(NodeId home) {
  std::vector<Mapped> taken;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key.home == home) taken.push_back(take_out(entry));
    entry = next;
  }
}

SegmentMap::Use SegmentMap::use() const {
  const std::lock_guard lock(mutex_);
  return {bytes_, entries_.size()};
}

}  // namespace godwit::ref
