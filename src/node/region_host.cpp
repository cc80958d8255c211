#include "node/region_host.hpp"

#include <utility>

#include "base/fail.hpp"
#include "fabric/waiter.hpp"
#include "node/runtime.hpp"

namespace godwit::node {

call::Caller& RegionHost::caller() {
  return runtime_.caller();
}

region::RegionTable& RegionHost::table() {
  return runtime_.regions();
}

fleet::NodeList RegionHost::nodes() {
  return runtime_.nodes();
}

Status RegionHost::publish(const wire::RegionDescriptor& descriptor) {
  Result<fleet::Version> written;
  const auto done = [&](Result<fleet::Version> version) { written = std::move(version); };
  runtime_.run_as_owner([&] {
    fleet::Directory& directory = runtime_.directory();
    if (descriptor.state != wire::RegionState::dropped) {
      directory.put_name(descriptor.key(), bytes_of(wire::encode(descriptor)), done);
      return;
    }
    const auto entry = directory.find_name(descriptor.key());
    const auto named = entry ? wire::parse_region(entry->value) : Result<wire::RegionDescriptor>();
    // Another region may have the name by now.
    if (named && named->id == descriptor.id) directory.erase_name(descriptor.key(), done);
  });
  if (!written) return tl::unexpected(std::move(written).error());
  return {};
}

// The service keeps the time, so the wait ends.
Result<std::shared_ptr<const region::MappedShard>> RegionHost::map(
    const region::ShardKey& key, std::chrono::nanoseconds at_most) {
  struct Answer {
    fabric::Waiter waiter;
    Result<std::shared_ptr<const region::MappedShard>> shard;
  };
  Answer answer;
  runtime_.run_as_owner([&] {
    runtime_.region_service().map(key, at_most, [&answer](auto shard) {
      answer.shard = std::move(shard);
      answer.waiter.complete();
    });
  });
  runtime_.reactor().wait(answer.waiter, fabric::kNever);
  return std::move(answer.shard);
}

}  // namespace godwit::node
