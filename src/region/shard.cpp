#include "region/shard.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include "base/fail.hpp"

namespace godwit::region {
namespace {

fabric::SegmentState segment_state(wire::RegionState state) {
  switch (state) {
    case wire::RegionState::live: return fabric::SegmentState::live;
    case wire::RegionState::sealed: return fabric::SegmentState::sealed;
    case wire::RegionState::dropped: break;
  }
  return fabric::SegmentState::dropped;
}

std::uint64_t in_pages(std::uint64_t bytes) {
  return (bytes + fabric::kPageSize - 1) / fabric::kPageSize * fabric::kPageSize;
}

}  // namespace

Shard::~Shard() {
  segment_ = {};
  budget_->give_back(budget_bytes());
}

Status Shard::grow(std::uint64_t elements) {
  const std::lock_guard lock(mutex_);
  if (elements <= elements_.load(std::memory_order_relaxed)) return {};
  const std::uint64_t bytes = elements * element_size_;
  const std::uint64_t more = in_file() ? 0 : in_pages(bytes) - budget_bytes();
  if (!budget_->take(more)) {
    return fail(ErrorCode::resource_exhausted,
                "shard {} of region '{}' wants {} bytes more, and this node's regions have {} of "
                "their {} left: drop some, or raise region_budget_mb",
                number_, name_, more, budget_->left_bytes(), budget_->limit_bytes());
  }
  if (Status grown = segment_.grow(data_offset_ + bytes); !grown) {
    budget_->give_back(more);
    return fail(grown.error().code, "shard {} of region '{}': {}", number_, name_,
                grown.error().message);
  }
  budget_bytes_.fetch_add(more, std::memory_order_relaxed);
  elements_.store(elements, std::memory_order_release);
  return {};
}

void Shard::set_state(wire::RegionState state) {
  const std::lock_guard lock(mutex_);
  segment_.set_state(segment_state(state));
  if (state == wire::RegionState::dropped && in_file()) ::unlink(file_.c_str());
}

void Shard::undo() {
  if (!found_) return set_state(wire::RegionState::dropped);
  const std::lock_guard lock(mutex_);
  segment_.set_state(fabric::SegmentState::dropped);
  // The mapping goes when its last user does, on another thread: who makes the region again by then
  // finds the file free.
  (void)::flock(segment_.descriptor().get(), LOCK_UN);
}

Result<Shard::Shared> Shard::share() const {
  const std::lock_guard lock(mutex_);
  GODWIT_TRY(fabric::Fd memory, segment_.share());
  return Shared{std::move(memory), {region_, number_, element_size_, segment_.capacity_bytes()}};
}

}  // namespace godwit::region
