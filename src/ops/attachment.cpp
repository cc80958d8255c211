#include "ops/attachment.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ops {
namespace {

// A home on this host answers within microseconds; one that does not is reached by calls.
constexpr std::chrono::seconds kMapPatience{2};

}  // namespace

Attachment::Attachment(RegionHost& host, wire::RegionDescriptor descriptor)
    : host_(host),
      original_(std::move(descriptor)),
      id_(original_.id),
      name_(original_.name),
      placement_(original_.placement()),
      map_(original_.map, placement_.data()),
      element_size_(original_.element_size),
      elements_(original_.elements),
      changes_(std::make_shared<call::CallCount>()) {
  for (const wire::RegionShard& shard : original_.shards) {
    shards_.push_back({shard.node, shard.epoch, nullptr});
  }
}

std::shared_ptr<Attachment> Attachment::create(RegionHost& host,
                                               wire::RegionDescriptor descriptor) {
  std::shared_ptr<Attachment> attachment(new Attachment(host, std::move(descriptor)));
  attachment->map_shards();
  return attachment;
}

void Attachment::map_shards() {
  is_all_mapped_ = true;
  for (std::uint32_t i = 0; i < shards_.size(); ++i) {
    auto mapped = host_.map({shards_[i].node, id_, i}, kMapPatience);
    const bool fits = mapped && (*mapped)->element_size() == element_size_ &&
                      (*mapped)->capacity_elements() >= map_.shard_elements(i, map_.capacity());
    if (fits) shards_[i].mapped = *std::move(mapped);
    is_all_mapped_ = is_all_mapped_ && fits;
  }
}

wire::RegionDescriptor Attachment::descriptor() const {
  const auto known = host_.table().region(id_);
  return known ? (*known)->descriptor : original_;
}

void Attachment::learn(const wire::RegionDescriptor& newer) {
  std::uint64_t known = elements();
  while (newer.elements > known && !elements_.compare_exchange_weak(known, newer.elements)) {
  }
}

std::uint64_t Attachment::refreshed_elements() const {
  const std::uint64_t now = std::min(descriptor().elements, map_.capacity());
  std::uint64_t known = elements();
  while (now > known && !elements_.compare_exchange_weak(known, now)) {
  }
  return std::max(now, known);
}

std::shared_ptr<call::CallCount> Attachment::changes() const {
  const std::lock_guard lock(changes_mutex_);
  changes_->begin();  // together with the look: a fence that misses it came first
  return changes_;
}

void Attachment::fence() {
  // A later fence waits for this one, and so for what this one waits for.
  const std::lock_guard turn(fence_mutex_);
  auto before = std::make_shared<call::CallCount>();
  {
    const std::lock_guard lock(changes_mutex_);
    before.swap(changes_);
  }
  before->wait_for_none();
}

Outcome<void> Attachment::check(const char* verb, std::uint64_t first, std::uint64_t count) const {
  if (first <= UINT64_MAX - count && reaches(first + count)) return {};
  return tl::unexpected(Failure{
      Ending::rejected, ErrorCode::invalid_argument, false,
      fmt::format("{}: it has {} elements", subject_of(note(verb, first, count, 0)), elements())});
}

Failure Attachment::why_not_good(const Note& note) const {
  const Shard& shard = shards_[note.shard];
  if (shard.mapped != nullptr && shard.mapped->home_lives()) {
    return {Ending::rejected, ErrorCode::not_found, false,
            fmt::format("{}: the region was dropped", subject_of(note))};
  }
  return {Ending::node_lost, ErrorCode::node_lost, false,
          fmt::format("{}: shard {} was lost when node {} ended", subject_of(note), note.shard,
                      host_.caller().options().name_of(shard.node))};
}

}  // namespace godwit::ops
