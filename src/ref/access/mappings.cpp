#include "ref/access/mappings.hpp"

namespace godwit::ref {

Result<SegmentMap::Mapped> ObjectAccess::Mappings::get(const SegmentKey& key,
                                                       std::chrono::nanoseconds at_most) {
  if (SegmentMap::Mapped mapped = host_.segments().find(key)) return mapped;
  {
    const std::lock_guard lock(mutex_);
    if (elsewhere_.contains(key.home)) return nullptr;
  }
  auto mapped = host_.map(key, at_most);
  if (mapped || mapped.error().code != ErrorCode::unsupported) return mapped;
  const std::lock_guard lock(mutex_);
  elsewhere_.insert(key.home);
  return nullptr;
}

}  // namespace godwit::ref
