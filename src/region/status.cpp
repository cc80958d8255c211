// What a table says of its regions to an operator.
#include <algorithm>
#include <vector>

#include "call/status.hpp"
#include "region/table.hpp"
#include "trace/json.hpp"

namespace godwit::region {
namespace {

void write_region(trace::Json& out, const KnownRegion& region) {
  const wire::RegionDescriptor& descriptor = region.descriptor;
  out.field("name", descriptor.name).field("id", to_hex(descriptor.id));
  out.field("state", wire::to_string(descriptor.state)).field("type", descriptor.type);
  out.field("elements", descriptor.elements).field("capacity", descriptor.map.capacity);
  out.field("in_files", descriptor.in_files).field("shards", descriptor.shards.size());
  out.field("shards_lost", std::count(region.nodes.begin(), region.nodes.end(), 0U));
  if (region.own == GODWIT_NO_SHARD) return;
  out.field("shard", region.own).field("shard_lost", region.shard == nullptr);
  if (!region.why_lost.empty()) out.field("why_lost", region.why_lost);
  if (region.shard == nullptr) return;
  out.field("shard_elements", region.own_elements);
  out.field("shard_bytes", region.own_elements * descriptor.element_size);
}

}  // namespace

void RegionTable::write_status(trace::Json& status) {
  std::vector<KnownRegionPtr> known;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, region] : regions_) {
      if (region->descriptor.state != wire::RegionState::dropped) known.push_back(region);
    }
  }
  std::sort(known.begin(), known.end(), [](const KnownRegionPtr& a, const KnownRegionPtr& b) {
    return a->descriptor.name < b->descriptor.name;
  });
  status.key("regions").open('{');
  if (store_ != nullptr) {
    status.field("memory_bytes", store_->budget().used_bytes());
    status.field("budget_bytes", store_->budget().limit_bytes());
  }
  status.field("known_total", known.size()).key("known").open('[');
  const std::size_t enough = status.text().size() + call::kStatusListBytes;
  for (const KnownRegionPtr& region : known) {
    if (status.text().size() >= enough) break;
    status.open('{');
    write_region(status, *region);
    status.close('}');
  }
  status.close(']').close('}');
}

}  // namespace godwit::region
