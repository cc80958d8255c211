// The exchange of mappings: a process asks a shard's home for its memory, and gets descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "call/engine.hpp"
#include "fabric/fd.hpp"
#include "region/mapped_shard.hpp"
#include "region/table.hpp"

namespace godwit::region {

// The owning thread's. All it is given outlives it.
class RegionService {
 public:
  // Called once, from inside map() or later.
  using Done = UniqueFunction<void(Result<std::shared_ptr<const MappedShard>>)>;
  static constexpr std::size_t kMaxQuestions = 4096;

  RegionService(call::Engine& engine, Scheduler& scheduler, RegionTable& table)
      : engine_(engine), scheduler_(scheduler), table_(table) {}
  ~RegionService();
  RegionService(const RegionService&) = delete;
  RegionService& operator=(const RegionService&) = delete;

  // Asks the home for the shard's memory and maps it; a link is made if there is none. Errors:
  // unsupported (the home is on another host, is reached over tcp, or keeps the shard in a file:
  // use messages), not_found (no such shard there), node_lost, unreachable, deadline,
  // resource_exhausted, protocol_violation.
  void map(const ShardKey& wanted, Duration at_most, Done done);

  // What the engine hands up. True if it was the service's.
  bool on_message(NodeId from, const wire::Header& header, Bytes body);
  void on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors);
  // No link to the node is left, or none could be made.
  void on_lost(NodeId node, const Error& why);

 private:
  struct Question {
    ShardKey key;
    TimerId timer;
    Done done;
  };
  void answer(NodeId asker, const wire::Header& question);
  [[nodiscard]] Status grant(NodeId asker, const wire::Header& question);
  [[nodiscard]] Result<std::shared_ptr<const MappedShard>> accept(
      const ShardKey& key, Bytes body, std::span<fabric::Fd> descriptors);
  void end(std::uint64_t id, Result<std::shared_ptr<const MappedShard>> result);

  call::Engine& engine_;
  Scheduler& scheduler_;
  RegionTable& table_;
  std::unordered_map<std::uint64_t, Question> questions_;
  std::uint64_t next_id_ = 1;
};

}  // namespace godwit::region
