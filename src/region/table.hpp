// Every region this process knows of: what was applied here and what the fleet's directory says.
//
// Descriptors of one id are joined: the larger count of elements and the later state hold, in
// whichever order they arrive. A name means the region that was last made under it; making one
// under the name of another that lives is refused, unless the directory says so (then two were made
// at once, and the fleet has settled on one).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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
  std::vector<std::uint64_t> nodes;      // the home of each shard; 0: lost
  std::uint32_t own = GODWIT_NO_SHARD;   // this process's shard
  std::shared_ptr<Shard> shard;          // its memory; null: lost, or there is none
  std::string why_lost;                  // if it lies in a file that cannot be used
  std::uint64_t own_elements = 0;        // of the region's, how many lie in it
  std::vector<std::uint32_t> placement;  // for its ShardMap; empty unless it is placed
};
using KnownRegionPtr = std::shared_ptr<const KnownRegion>;

// Any thread. The locks are held for a moment, except that apply() and hear() take as long as
// making memory does; readers pass them meanwhile.
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
  // Regions that live, sealed ones included. Errors: not_found.
  [[nodiscard]] Result<KnownRegionPtr> find_region(std::string_view name);
  [[nodiscard]] Result<KnownRegionPtr> region(std::uint64_t id);
  [[nodiscard]] ShardStore* store() const noexcept { return store_; }
  // Makes this process's part of the region what the descriptor says; readers see it from then on.
  // Applying the same again, or an older one, changes nothing. Errors: invalid_argument (makes no
  // sense, or changes what cannot be changed), already_exists (another region of that name),
  // resource_exhausted, io; nothing is changed then.
  Status apply(const wire::RegionDescriptor& news) { return merge(news, Source::applied); }

  // --- What mobile code sees ---
  Result<std::uint64_t> find(std::string_view name) override;
  Result<Pin> view(std::uint64_t id, std::string_view type, std::uint32_t rights,
                   godwit_region_v1& view) override;
  Status apply(Bytes descriptor) override;

  // --- News from the fleet ---
  // The value of a shared name that starts with wire::kRegionKeyPrefix. Like apply(), except that a
  // different region of that name gives way.
  Status hear(Bytes value);
  // The shared name of that region ("list") was erased: what the directory said under it is gone.
  // What was made under the name since, and the directory has not heard of, stays.
  Status hear_erased(std::string_view name);
  // Which nodes there are: shards of earlier lives, and of nodes that are gone, are lost.
  void set_nodes(fleet::NodeList nodes);

  // Adds "regions" to a status.
  void write_status(trace::Json& status);

 private:
  enum class Source : std::uint8_t { applied, directory };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Life {
    Epoch epoch;
    bool lost = false;
  };

  Status merge(wire::RegionDescriptor news, Source source);
  [[nodiscard]] Status check_new(const wire::RegionDescriptor& news, Source source);
  Status change(wire::RegionDescriptor news, const KnownRegionPtr& known);
  [[nodiscard]] Result<std::shared_ptr<Shard>> shape_shard(const wire::RegionDescriptor& news,
                                                           std::uint32_t own,
                                                           const KnownRegion* known);
  [[nodiscard]] bool is_own(const wire::RegionDescriptor& region, std::uint32_t shard) const;
  [[nodiscard]] bool is_of_this_life(const wire::RegionDescriptor& region,
                                     std::uint32_t shard) const;
  // The rest with mutex_ held.
  [[nodiscard]] KnownRegionPtr lookup(std::uint64_t id) const;
  [[nodiscard]] KnownRegionPtr lookup(std::string_view name) const;
  [[nodiscard]] std::vector<std::uint64_t> homes(const KnownRegion& region) const;
  void insert(KnownRegionPtr region);

  const Self self_;
  ShardStore* const store_;

  using Names = std::unordered_map<std::string, std::uint64_t, NameHash, std::equal_to<>>;

  std::mutex applying_;  // one change of descriptors at a time; taken before mutex_
  Names heard_;          // which region the directory has under a name; guarded by applying_
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, KnownRegionPtr> regions_;
  Names names_;
  std::deque<std::uint64_t> dropped_;  // oldest first
  fleet::NodeList nodes_;
  std::unordered_map<NodeId, Life> lives_;
};

}  // namespace godwit::region
