// Every region this process knows of: what was applied here and what the fleet's directory says.
//
// A descriptor of a higher version replaces that of the same id. A name means the region that was
// last made under it; making one under the name of another that lives is refused, unless the
// directory says so (then two were made at once, and the fleet has settled on one).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "call/regions.hpp"
#include "fleet/table.hpp"
#include "region/store.hpp"
#include "wire/region.hpp"

namespace godwit::trace {
class Json;
}

namespace godwit::region {

// A region at one moment. Immutable but for the memory of its shard.
struct KnownRegion {
  wire::RegionDescriptor descriptor;
  std::vector<std::uint64_t> nodes;  // the home of each shard; 0: lost
  std::uint32_t own = GODWIT_NO_SHARD;
  std::shared_ptr<Shard> shard;  // the memory of `own`; null: lost, or there is none
};

// Any thread; the locks are held for a moment only, except in apply(), which takes as long as
// making memory does and lets readers pass meanwhile.
class RegionTable final : public call::Regions {
 public:
  struct Self {
    NodeId node;
    Epoch epoch;
    std::string name;  // for messages
  };
  static constexpr std::size_t kMaxRegions = 4096;
  // Regions that were dropped are remembered, so that old news of them is recognised; beyond this
  // many the oldest are forgotten.
  static constexpr std::size_t kMaxDropped = 1024;

  // `store` is null in a process without shards of its own; it outlives the table.
  RegionTable(Self self, ShardStore* store) : self_(std::move(self)), store_(store) {}

  // --- For programs and services ---
  // Errors: not_found.
  [[nodiscard]] Result<std::shared_ptr<const KnownRegion>> find_region(std::string_view name);
  [[nodiscard]] Result<std::shared_ptr<const KnownRegion>> region(std::uint64_t id);
  // Makes this process's part of the region what the descriptor says. Applying one again, or an
  // older one, changes nothing. Errors: as godwit_here_v1 says of apply_region().
  Status apply(const wire::RegionDescriptor& descriptor);

  // --- What mobile code sees ---
  Result<std::uint64_t> find(std::string_view name) override;
  Result<Pin> view(std::uint64_t id, std::string_view type, std::uint32_t rights,
                   godwit_region_v1& view) override;
  Status apply(Bytes descriptor) override;

  // --- News from the fleet ---
  // The value of a shared name that starts with wire::kRegionKeyPrefix. Like apply(), except that a
  // different region of that name gives way.
  Status hear(Bytes value);
  // Which nodes there are: shards of earlier lives, and of nodes that are gone, are lost.
  void set_nodes(fleet::NodeList nodes);

  // Adds "regions" to a status.
  void write_status(trace::Json& status);

 private:
  Self self_;
  ShardStore* store_;

  std::mutex applying_;  // one apply() at a time; taken before mutex_
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const KnownRegion>> regions_;
  fleet::NodeList nodes_;
};

}  // namespace godwit::region
