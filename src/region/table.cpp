#include "region/table.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "code/types/type.hpp"
#include "godwit/sharding.hpp"

namespace godwit::region {
namespace {

using wire::RegionDescriptor;
using wire::RegionState;

bool is_dropped(const KnownRegion& region) {
  return region.descriptor.state == RegionState::dropped;
}

Status check_type(const RegionDescriptor& region) {
  const auto type = code::parse_type(region.type);
  if (!type) {
    return fail(ErrorCode::invalid_argument, "region '{}': '{}' is no type: {}", region.name,
                region.type, type.error().message);
  }
  if (!type->plain || type->size != region.element_size) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': its elements are {} bytes of type {}, which is not a plain type of "
                "that size",
                region.name, region.element_size, region.type);
  }
  return {};
}

bool same_shape(const RegionDescriptor& a, const RegionDescriptor& b) {
  return a.name == b.name && a.type == b.type && a.element_size == b.element_size &&
         a.in_files == b.in_files && wire::same_map(a.map, b.map) && a.shards == b.shards &&
         a.assignment == b.assignment;
}

std::uint32_t find_shard(const RegionDescriptor& region, NodeId node) {
  for (std::size_t i = 0; i < region.shards.size(); ++i) {
    if (region.shards[i].node == node) return static_cast<std::uint32_t>(i);
  }
  return GODWIT_NO_SHARD;
}

}  // namespace

// --- Changes ------------------------------------------------------------------------------------

Status RegionTable::apply(Bytes descriptor) {
  GODWIT_TRY(const RegionDescriptor news, wire::parse_region(descriptor));
  return merge(news, Source::applied);
}

Status RegionTable::hear(Bytes value) {
  GODWIT_TRY(const RegionDescriptor news, wire::parse_region(value));
  return merge(news, Source::directory);
}

Status RegionTable::hear_erased(std::string_view name) {
  const std::lock_guard one_at_a_time(applying_);
  const auto heard = heard_.find(name);
  if (heard == heard_.end()) return {};
  KnownRegionPtr known;
  {
    const std::lock_guard lock(mutex_);
    known = lookup(heard->second);
  }
  heard_.erase(heard);
  if (known == nullptr || is_dropped(*known)) return {};
  RegionDescriptor news = known->descriptor;
  news.state = RegionState::dropped;
  return change(std::move(news), known);
}

Status RegionTable::merge(RegionDescriptor news, Source source) {
  GODWIT_CHECK(wire::validate(news));
  GODWIT_CHECK(check_type(news));
  const std::lock_guard one_at_a_time(applying_);
  KnownRegionPtr known;
  {
    const std::lock_guard lock(mutex_);
    known = lookup(news.id);
  }
  if (source == Source::directory) heard_[news.name] = news.id;
  if (known == nullptr) {
    GODWIT_CHECK(check_new(news, source));
    return change(std::move(news), nullptr);
  }
  const RegionDescriptor& old = known->descriptor;
  if (!same_shape(old, news)) {
    return fail(ErrorCode::invalid_argument,
                "region '{}' can grow, be sealed and be dropped; everything else of it is fixed",
                old.name);
  }
  news.version = std::max(news.version, old.version);
  news.elements = std::max(news.elements, old.elements);
  news.state = std::max(news.state, old.state);
  // Nothing of one that is gone can change any more.
  if (news == old || old.state == RegionState::dropped) return {};
  return change(std::move(news), known);
}

Status RegionTable::check_new(const RegionDescriptor& news, Source source) {
  const std::lock_guard lock(mutex_);
  if (regions_.size() - dropped_.size() >= kMaxRegions) {
    return fail(ErrorCode::resource_exhausted,
                "this process knows {} regions, the limit: drop some before making '{}'",
                kMaxRegions, news.name);
  }
  const KnownRegionPtr other = lookup(news.name);
  const bool taken = other != nullptr && !is_dropped(*other);
  if (taken && source == Source::applied && news.state != RegionState::dropped) {
    return fail(ErrorCode::already_exists,
                "there is a region '{}' already, of {} elements of type {}: drop it first, or "
                "attach to it",
                news.name, other->descriptor.elements, other->descriptor.type);
  }
  return {};
}

// With applying_ held.
Status RegionTable::change(RegionDescriptor news, const KnownRegionPtr& known) {
  auto changed = std::make_shared<KnownRegion>();
  changed->own = find_shard(news, self_.node);
  changed->placement = news.placement();
  if (changed->own != GODWIT_NO_SHARD && is_own(news, changed->own)) {
    auto shard = shape_shard(news, changed->own, known.get());
    // A file of an earlier life that cannot be used is a lost shard of a region that lives on;
    // everything else was asked for just now, and is refused.
    const bool had_one = known != nullptr && known->shard != nullptr;
    if (!shard && (had_one || is_of_this_life(news, changed->own))) {
      return tl::unexpected(std::move(shard).error());
    }
    if (shard) {
      changed->shard = *std::move(shard);
    } else {
      changed->why_lost = shard.error().message;
    }
    changed->own_elements =
        ShardMap(news.map, changed->placement.data()).shard_elements(changed->own, news.elements);
  }
  const RegionState state = news.state;
  const bool undone = news.undone;
  changed->descriptor = std::move(news);
  {
    const std::lock_guard lock(mutex_);
    changed->nodes = homes(*changed);
    insert(std::move(changed));
  }
  // Only now, so that nobody finds the region by its name and its memory dropped.
  if (known == nullptr || known->shard == nullptr) return {};
  if (undone) {
    known->shard->undo();
  } else {
    known->shard->set_state(state);
  }
  return {};
}

// The memory as the news wants it; null for one that is dropped.
Result<std::shared_ptr<Shard>> RegionTable::shape_shard(const RegionDescriptor& news,
                                                        std::uint32_t own,
                                                        const KnownRegion* known) {
  if (news.state == RegionState::dropped) return std::shared_ptr<Shard>();
  if (known == nullptr || known->shard == nullptr) {
    return store_->create(news, own,
                          is_of_this_life(news, own) ? FileUse::find_or_make : FileUse::find);
  }
  const ShardMap map(news.map, known->placement.data());
  GODWIT_CHECK(known->shard->grow(map.shard_elements(own, news.elements)));
  return known->shard;
}

bool RegionTable::is_own(const RegionDescriptor& region, std::uint32_t shard) const {
  return store_ != nullptr && region.shards[shard].node == self_.node &&
         (region.in_files || is_of_this_life(region, shard));
}

bool RegionTable::is_of_this_life(const RegionDescriptor& region, std::uint32_t shard) const {
  return region.shards[shard].epoch == self_.epoch;
}

void RegionTable::set_nodes(fleet::NodeList nodes) {
  const std::lock_guard lock(mutex_);
  if (nodes == nodes_) return;
  nodes_ = std::move(nodes);
  lives_.clear();
  for (const fleet::NodeRecord& record : *nodes_) {
    lives_[record.id] = {record.epoch, record.state == fleet::NodeState::lost};
  }
  for (auto& [id, region] : regions_) {
    std::vector<std::uint64_t> now = homes(*region);
    if (now == region->nodes) continue;
    auto changed = std::make_shared<KnownRegion>(*region);
    changed->nodes = std::move(now);
    region = std::move(changed);
  }
}

// A node nobody has told us of yet may well be there.
std::vector<std::uint64_t> RegionTable::homes(const KnownRegion& known) const {
  const RegionDescriptor& region = known.descriptor;
  std::vector<std::uint64_t> nodes;
  nodes.reserve(region.shards.size());
  for (std::uint32_t i = 0; i < region.shards.size(); ++i) {
    const wire::RegionShard& shard = region.shards[i];
    bool lost = false;
    if (shard.node == self_.node) {
      lost = !is_own(region, i) || !known.why_lost.empty();
    } else if (const auto life = lives_.find(shard.node); life != lives_.end()) {
      const bool later = !region.in_files && life->second.epoch > shard.epoch;
      const bool current = region.in_files || life->second.epoch == shard.epoch;
      lost = later || (current && life->second.lost);
    }
    nodes.push_back(lost ? 0 : shard.node.value);
  }
  return nodes;
}

void RegionTable::insert(KnownRegionPtr region) {
  const RegionDescriptor& descriptor = region->descriptor;
  const KnownRegionPtr before = lookup(descriptor.name);
  const bool gone = is_dropped(*region);
  // News that a region is gone takes its name from nobody else.
  const bool takes_name = before == nullptr || is_dropped(*before) || !gone;
  if (takes_name) names_[descriptor.name] = descriptor.id;
  if (gone) dropped_.push_back(descriptor.id);
  regions_[descriptor.id] = std::move(region);
  if (dropped_.size() <= kMaxDropped) return;
  const auto oldest = regions_.find(dropped_.front());
  dropped_.pop_front();
  const auto name = names_.find(oldest->second->descriptor.name);
  if (name != names_.end() && name->second == oldest->first) names_.erase(name);
  regions_.erase(oldest);
}

// --- Looking ------------------------------------------------------------------------------------

KnownRegionPtr RegionTable::lookup(std::uint64_t id) const {
  const auto found = regions_.find(id);
  return found == regions_.end() ? nullptr : found->second;
}

KnownRegionPtr RegionTable::lookup(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : lookup(found->second);
}

Result<KnownRegionPtr> RegionTable::find_region(std::string_view name) {
  KnownRegionPtr found;
  {
    const std::lock_guard lock(mutex_);
    found = lookup(name);
  }
  if (found == nullptr) {
    return fail(ErrorCode::not_found,
                "no region is called '{}' here: create it, or give the news of it a moment to "
                "spread",
                name.substr(0, wire::kMaxRegionNameBytes));
  }
  if (is_dropped(*found)) return fail(ErrorCode::not_found, "region '{}' was dropped", name);
  return found;
}

Result<KnownRegionPtr> RegionTable::region(std::uint64_t id) {
  KnownRegionPtr found;
  {
    const std::lock_guard lock(mutex_);
    found = lookup(id);
  }
  if (found == nullptr) {
    return fail(ErrorCode::not_found, "no region has the id {} here", to_hex(id));
  }
  if (is_dropped(*found)) {
    return fail(ErrorCode::not_found, "region '{}' was dropped", found->descriptor.name);
  }
  return found;
}

Result<std::uint64_t> RegionTable::find(std::string_view name) {
  GODWIT_TRY(const KnownRegionPtr found, find_region(name));
  return found->descriptor.id;
}

Result<call::Regions::Pin> RegionTable::view(std::uint64_t id, std::string_view type,
                                             std::uint32_t rights, godwit_region_v1& view) {
  GODWIT_TRY(KnownRegionPtr found, region(id));
  const RegionDescriptor& descriptor = found->descriptor;
  if (!type.empty() && type != descriptor.type) {
    return fail(ErrorCode::type_mismatch, "the elements of region '{}' are {}, not {}",
                descriptor.name, descriptor.type, type);
  }
  const bool sealed = descriptor.state == RegionState::sealed;
  const std::uint32_t granted =
      sealed ? GODWIT_REGION_READ : GODWIT_REGION_READ | GODWIT_REGION_WRITE;
  if ((rights & ~granted) != 0) {
    return fail(ErrorCode::permission, "region '{}' {}", descriptor.name,
                sealed ? "is sealed: it can be read only" : "knows no such right");
  }
  if (!found->why_lost.empty()) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' is lost: {}", found->own,
                descriptor.name, found->why_lost);
  }
  if (found->own != GODWIT_NO_SHARD && found->shard == nullptr) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' was lost when node {} ended",
                found->own, descriptor.name, self_.name);
  }
  view.element_size = descriptor.element_size;
  view.id = id;
  view.elements = descriptor.elements;
  view.map = descriptor.map;
  view.nodes = found->nodes.data();
  view.shard = found->own;
  view.rights = granted;
  view.data = found->shard == nullptr ? nullptr : found->shard->data();
  view.data_elements = found->own_elements;
  view.name = descriptor.name.data();
  view.name_size = descriptor.name.size();
  view.placement = found->placement.data();
  return Pin(std::move(found));
}

}  // namespace godwit::region
