// The exchange of segments: a process asks an object's home for the memory it lies in, and maps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/scheduler.hpp"
#include "base/task.hpp"
#include "call/grants.hpp"
#include "ref/access/segment_map.hpp"
#include "ref/arena/arena.hpp"
#include "ref/home/currency.hpp"

namespace godwit::ref {

// The owning thread's. All it is given outlives it.
class SegmentExchange {
 public:
  using Done = UniqueFunction<void(Result<SegmentMap::Mapped>)>;

  // What a home shares; nulls in a process that is none.
  struct Own {
    Arena* arena = nullptr;
    Currency* currency = nullptr;
  };
  SegmentExchange(call::Engine& engine, Scheduler& scheduler, SegmentMap& map, const Own& own);

  // Puts it into the map, and calls `done` once. Errors: unsupported (the home is on another host,
  // or reached over tcp), not_found, node_lost, unreachable, deadline, resource_exhausted,
  // protocol_violation.
  void map(const SegmentKey& wanted, Duration at_most, Done done);

  // The words by which a home says what still holds. Calls `done` once. Errors: the same.
  using CurrencyDone = UniqueFunction<void(Result<std::shared_ptr<const HomeCurrency>>)>;
  void map_currency(NodeId home, Duration at_most, CurrencyDone done);

  // Takes what the engine hands up.
  [[nodiscard]] call::Grants& grants() noexcept { return grants_; }

 private:
  [[nodiscard]] Status grant(NodeId asker, const wire::Header& question);
  [[nodiscard]] Status send(NodeId asker, const wire::Header& question, std::uint64_t size,
                            std::span<const int> descriptors);

  call::Engine& engine_;
  SegmentMap& map_;
  const Own own_;
  call::Grants grants_;
};

}  // namespace godwit::ref
