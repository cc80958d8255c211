// The exchange of mappings: a process asks a shard's home for its memory, and gets descriptors.
#pragma once

#include <memory>
#include <span>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "call/grants.hpp"
#include "region/mapped_shard.hpp"
#include "region/table.hpp"

namespace godwit::region {

// The owning thread's. All it is given outlives it.
class RegionService {
 public:
  // Called once, from inside map() or later.
  using Done = UniqueFunction<void(Result<std::shared_ptr<const MappedShard>>)>;

  RegionService(call::Engine& engine, Scheduler& scheduler, RegionTable& table);

  // Asks the home for the shard's memory and maps it; a link is made if there is none. Errors:
  // unsupported (the home is on another host, is reached over tcp, or keeps the shard in a file:
  // use messages), not_found (no such shard there), node_lost, unreachable, deadline,
  // resource_exhausted, protocol_violation.
  void map(const ShardKey& wanted, Duration at_most, Done done);

  // Takes what the engine hands up.
  [[nodiscard]] call::Grants& grants() noexcept { return grants_; }

 private:
  [[nodiscard]] Status grant(NodeId asker, const wire::Header& question);

  call::Engine& engine_;
  RegionTable& table_;
  call::Grants grants_;
};

}  // namespace godwit::region
