#include "region/service.hpp"

#include <array>
#include <utility>

#include "base/fail.hpp"

namespace godwit::region {
namespace {

constexpr std::size_t kGrantDescriptors = 2;  // the memory, the life page

Result<std::shared_ptr<const MappedShard>> accept(const ShardKey& key,
                                                  const call::Grants::Granted& granted) {
  GODWIT_TRY(const wire::RegionGrant grant, wire::parse_region_grant(granted.body));
  if (granted.descriptors.size() != kGrantDescriptors) {
    return fail(ErrorCode::protocol_violation,
                "a grant of a shard came with {} descriptors, not {}", granted.descriptors.size(),
                kGrantDescriptors);
  }
  return MappedShard::create(key, grant, granted.descriptors[0], granted.descriptors[1]);
}

}  // namespace

RegionService::RegionService(call::Engine& engine, Scheduler& scheduler, RegionTable& table)
    : engine_(engine),
      table_(table),
      grants_(
          engine, scheduler, {wire::Kind::ask_region, wire::Kind::region},
          [this](NodeId asker, const wire::Header& question) { return grant(asker, question); }) {}

void RegionService::map(const ShardKey& wanted, Duration at_most, Done done) {
  if (wanted.home == engine_.options().self) {
    return done(fail(ErrorCode::unsupported, "shard {} of region {} is this process's own",
                     wanted.shard, to_hex(wanted.region)));
  }
  grants_.ask(wanted.home, wire::Header{.aux = wanted.shard, .subject = wanted.region}, at_most,
              [wanted, done = std::move(done)](Result<call::Grants::Granted> granted) mutable {
                if (!granted) return done(tl::unexpected(std::move(granted).error()));
                done(accept(wanted, *granted));
              });
}

Status RegionService::grant(NodeId asker, const wire::Header& question) {
  GODWIT_TRY(const KnownRegionPtr region, table_.region(question.subject));
  const std::string& name = region->descriptor.name;
  if (region->own != question.aux) {
    return fail(ErrorCode::not_found, "this node has no shard {} of region '{}'", question.aux,
                name);
  }
  if (!region->why_lost.empty()) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' is lost: {}", question.aux, name,
                region->why_lost);
  }
  if (region->shard == nullptr) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' was lost when its node ended",
                question.aux, name);
  }
  GODWIT_TRY(const Shard::Shared shared, region->shard->share());
  GODWIT_TRY(const fabric::Fd life, table_.store()->share_life());
  const std::array<int, kGrantDescriptors> descriptors{shared.memory.get(), life.get()};
  const Status sent =
      engine_.send_descriptors(asker, wire::Header{.kind = wire::Kind::region, .id = question.id},
                               bytes_of_value(shared.grant), descriptors);
  if (!sent && sent.error().code == ErrorCode::unreachable) {
    return fail(ErrorCode::unsupported, "region '{}' is mapped over shm links only: {}", name,
                sent.error().message);
  }
  return sent;
}

}  // namespace godwit::region
