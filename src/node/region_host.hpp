// What this process gives to those in it that use regions.
#pragma once

#include "ops/region_host.hpp"

namespace godwit::node {

class Runtime;

// Any thread. The runtime outlives it.
class RegionHost final : public ops::RegionHost {
 public:
  explicit RegionHost(Runtime& runtime) : runtime_(runtime) {}

  call::Caller& caller() override;
  region::RegionTable& table() override;
  fleet::NodeList nodes() override;
  Status publish(const wire::RegionDescriptor& descriptor) override;
  Result<std::shared_ptr<const region::MappedShard>> map(const region::ShardKey& key,
                                                         std::chrono::nanoseconds at_most) override;

 private:
  Runtime& runtime_;
};

}  // namespace godwit::node
