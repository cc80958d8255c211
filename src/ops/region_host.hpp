// What a process gives to those in it that use regions. Implemented by node/.
#pragma once

#include <chrono>
#include <memory>

#include "call/caller.hpp"
#include "fleet/table.hpp"
#include "ops/costs.hpp"
#include "region/mapped_shard.hpp"
#include "region/table.hpp"
#include "wire/region.hpp"

namespace godwit::ops {

// Any thread. Outlives every attachment made through it.
class RegionHost {
 public:
  virtual ~RegionHost() = default;
  [[nodiscard]] virtual call::Caller& caller() = 0;
  [[nodiscard]] virtual region::RegionTable& table() = 0;
  // The fleet's nodes as they are known here, in order of their names.
  [[nodiscard]] virtual fleet::NodeList nodes() = 0;
  // Makes the descriptor known to the fleet under the region's name; that of a dropped region gives
  // the name back.
  [[nodiscard]] virtual Status publish(const wire::RegionDescriptor& descriptor) = 0;
  // Waits. Errors: as RegionService::map().
  [[nodiscard]] virtual Result<std::shared_ptr<const region::MappedShard>> map(
      const region::ShardKey& key, std::chrono::nanoseconds at_most) = 0;

  // Shared by all regions of the process.
  [[nodiscard]] CostBook& costs() noexcept { return costs_; }

 private:
  CostBook costs_;
};

}  // namespace godwit::ops
