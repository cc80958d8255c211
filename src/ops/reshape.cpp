#include "ops/reshape.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ops {
namespace {

// Later changes have greater versions, also those of different clients.
std::uint64_t next_version(std::uint64_t version) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return std::max(version + 1, static_cast<std::uint64_t>(now_ns));
}

std::uint64_t random_id() {
  std::random_device entropy;
  std::uint64_t id = 0;
  while (id == 0) id = (std::uint64_t{entropy()} << 32) | entropy();
  return id;
}

bool is_up(const fleet::NodeRecord& record) {
  return record.state == fleet::NodeState::up && record.role == fleet::NodeRole::node;
}

bool has_shard(const wire::RegionDescriptor& descriptor, NodeId node) {
  return std::ranges::any_of(descriptor.shards,
                             [node](const auto& shard) { return shard.node == node; });
}

// One node's answer to a descriptor.
struct Application {
  NodeId node;
  detail::CallHandle call;
};

Application apply_at(RegionHost& host, NodeId node, std::string_view descriptor) {
  call::Caller& caller = host.caller();
  Application application{node, detail::CallHandle::prepare(caller)};
  if (!application.call) return application;
  std::array<detail::Blob, 3> parts;
  BlobWriter writer(application.call.small(), parts, detail::CallHandle::kSmallBytes / 2);
  write_blob(writer, Bytes(bytes_of(descriptor)));
  application.call.start(node.value, function(Op::apply, caller),
                         std::span(parts).first(writer.part_count()),
                         caller.options().default_deadline);
  return application;
}

Error error_of(RegionHost& host, const wire::RegionDescriptor& descriptor, NodeId node,
               const Failure& failure) {
  return {failure.reason, fmt::format("region '{}' on node {}: {}", descriptor.name,
                                      host.caller().options().name_of(node), failure.message)};
}

// Tells every node that is up, so that mobile code finds the region there at once; those that have
// a shard must agree: the error is that of the first that did not. A region is dropped without the
// nodes that are gone; `absent` gets their shards.
Status apply_everywhere(RegionHost& host, const wire::RegionDescriptor& descriptor,
                        std::vector<std::uint32_t>& absent) {
  GODWIT_CHECK(wire::validate(descriptor));
  const std::string bytes = wire::encode(descriptor);
  std::vector<Application> applications;
  for (const wire::RegionShard& shard : descriptor.shards) {
    applications.push_back(apply_at(host, shard.node, bytes));
  }
  const std::size_t homes = applications.size();
  const fleet::NodeList nodes = host.nodes();
  for (const fleet::NodeRecord& record : *nodes) {
    if (!is_up(record) || has_shard(descriptor, record.id)) continue;
    applications.push_back(apply_at(host, record.id, bytes));
  }
  Status agreed;
  for (std::size_t i = 0; i < applications.size(); ++i) {
    detail::CallHandle& call = applications[i].call;
    call.wait();
    if (call.ok() || i >= homes || !agreed) continue;  // the others hear of it from the directory
    const Failure failure = call.failure();
    const bool gone = failure.ending == Ending::node_lost;
    if (gone && descriptor.state == wire::RegionState::dropped) {
      absent.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    agreed = tl::unexpected(error_of(host, descriptor, applications[i].node, failure));
  }
  return agreed;
}

Result<std::vector<wire::RegionShard>> choose_shards(RegionHost& host,
                                                     const RegionOptions& options) {
  const fleet::NodeList nodes = host.nodes();
  std::vector<wire::RegionShard> shards;
  if (options.nodes.empty()) {
    for (const fleet::NodeRecord& record : *nodes) {
      if (is_up(record) && shards.size() < wire::kMaxRegionShards) {
        shards.push_back({record.id, record.epoch});
      }
    }
    if (shards.empty()) return fail(ErrorCode::not_found, "no node is up to hold the region");
    return shards;
  }
  for (const NodeHandle& wanted : options.nodes) {
    const auto it = std::ranges::find_if(*nodes, [&](const fleet::NodeRecord& record) {
      return record.id.value == wanted.id() && is_up(record);
    });
    if (it == nodes->end()) {
      return fail(ErrorCode::node_lost, "node {} is not up and cannot hold a shard", wanted.name());
    }
    shards.push_back({it->id, it->epoch});
  }
  return shards;
}

// Asks the user's function where each chunk goes. Of too many only the first are asked for, which
// validate() refuses.
Status assign_chunks(const Sharding& sharding, wire::RegionDescriptor& descriptor) {
  const std::uint64_t chunks =
      std::min<std::uint64_t>(chunk_count(descriptor.map), kMaxPlacedChunks + 1);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint32_t shard = sharding.shard_of_chunk(chunk, descriptor.map.shards);
    if (shard >= descriptor.map.shards) {
      return fail(ErrorCode::invalid_argument,
                  "region '{}': the function puts chunk {} on node number {}, and there are {}",
                  descriptor.name, chunk, shard, descriptor.map.shards);
    }
    descriptor.assignment.push_back(static_cast<std::uint8_t>(shard));
  }
  return {};
}

Result<wire::RegionDescriptor> describe_new(RegionHost& host, std::string_view name,
                                            const detail::ElementType& type,
                                            const RegionOptions& options) {
  wire::RegionDescriptor descriptor;
  descriptor.id = random_id();
  descriptor.version = next_version(0);
  descriptor.in_files = options.in_files;
  descriptor.element_size = type.size;
  descriptor.elements = options.elements;
  descriptor.name = name;
  descriptor.type = type.name;
  GODWIT_TRY(descriptor.shards, choose_shards(host, options));
  const std::uint64_t capacity = options.capacity == 0 ? options.elements : options.capacity;
  if (capacity == 0) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': neither elements nor a capacity to grow to", name);
  }
  descriptor.map =
      options.sharding.over(capacity, static_cast<std::uint32_t>(descriptor.shards.size())).abi();
  if (options.sharding.is_placed()) GODWIT_CHECK(assign_chunks(options.sharding, descriptor));
  GODWIT_CHECK(wire::validate(descriptor));
  return descriptor;
}

// Memory of a node that is gone is gone as well; a file is not, and a region that is created under
// the same name would find it.
Status check_no_files_left(RegionHost& host, const wire::RegionDescriptor& descriptor,
                           const std::vector<std::uint32_t>& absent) {
  if (!descriptor.in_files || absent.empty()) return {};
  const std::uint32_t shard = absent.front();
  return fail(ErrorCode::node_lost,
              "region '{0}' is dropped, but {1} of its nodes did not answer and may still have a "
              "file of it: remove {0}.{2} from the region_dir of node {3}{4}",
              descriptor.name, absent.size(), shard,
              host.caller().options().name_of(descriptor.shards[shard].node),
              absent.size() > 1 ? ", and likewise of the others" : "");
}

Status change(Attachment& region, wire::RegionDescriptor descriptor) {
  descriptor.version = next_version(descriptor.version);
  std::vector<std::uint32_t> absent;
  GODWIT_CHECK(apply_everywhere(region.host(), descriptor, absent));
  region.learn(descriptor);
  GODWIT_CHECK(region.host().table().apply(descriptor));
  GODWIT_CHECK(region.host().publish(descriptor));
  return check_no_files_left(region.host(), descriptor, absent);
}

}  // namespace

Result<std::shared_ptr<Attachment>> create_region(RegionHost& host, std::string_view name,
                                                  const detail::ElementType& type,
                                                  const RegionOptions& options) {
  GODWIT_CHECK(wire::validate_region_name(name));
  if (const auto known = host.table().find_region(name); known) {
    return fail(ErrorCode::already_exists,
                "there is a region '{}' already; attach to it, or drop it first", name);
  }
  GODWIT_TRY(wire::RegionDescriptor descriptor, describe_new(host, name, type, options));
  std::vector<std::uint32_t> absent;
  Status done = apply_everywhere(host, descriptor, absent);
  if (done) done = host.table().apply(descriptor);
  if (done) done = host.publish(descriptor);
  if (!done) {
    // What some node has made of it goes again; how that ends changes nothing.
    descriptor.state = wire::RegionState::dropped;
    descriptor.undone = true;
    ++descriptor.version;
    static_cast<void>(apply_everywhere(host, descriptor, absent));
    static_cast<void>(host.table().apply(descriptor));
    return tl::unexpected(std::move(done).error());
  }
  return Attachment::create(host, std::move(descriptor));
}

Result<std::shared_ptr<Attachment>> attach_region(RegionHost& host, std::string_view name,
                                                  const detail::ElementType& type) {
  GODWIT_TRY(const auto known, host.table().find_region(name));
  const wire::RegionDescriptor& descriptor = known->descriptor;
  if (descriptor.type != type.name || descriptor.element_size != type.size) {
    return fail(ErrorCode::type_mismatch, "region '{}' has elements of {}, but was asked for as {}",
                name, descriptor.type, type.name);
  }
  return Attachment::create(host, descriptor);
}

Status grow_region(Attachment& region, std::uint64_t elements) {
  wire::RegionDescriptor descriptor = region.descriptor();
  if (elements > descriptor.map.capacity) {
    return fail(ErrorCode::invalid_argument,
                "region '{}' cannot grow to {} elements: it was made with a capacity of {}",
                region.name(), elements, descriptor.map.capacity);
  }
  if (elements <= descriptor.elements) return {};
  descriptor.elements = elements;
  return change(region, std::move(descriptor));
}

Status set_region_state(Attachment& region, wire::RegionState state) {
  wire::RegionDescriptor descriptor = region.descriptor();
  descriptor.state = state;
  return change(region, std::move(descriptor));
}

}  // namespace godwit::ops
