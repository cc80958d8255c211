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
#include "fabric/memory/memfd.hpp"
#include "ref/arena.hpp"

namespace godwit::ref {

struct SegmentKey {
  NodeId home;
  std::uint64_t segment = 0;
  fabric::Access access = fabric::Access::read;
  friend bool operator==(const SegmentKey&, const SegmentKey&) = default;
};

// A segment of another process of this host. Immutable; any thread. What of it means something, and
// until when, is between the home and who has it pinned.
class MappedSegment {
 public:
  explicit MappedSegment(fabric::Mapping memory) noexcept : memory_(std::move(memory)) {}
  // The bytes there; empty if they reach beyond the segment.
  [[nodiscard]] std::span<std::byte> at(std::uint64_t offset, std::uint64_t size) const noexcept {
    if (offset > memory_.size() || size > memory_.size() - offset) return {};
    return {memory_.data() + offset, size};
  }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

 private:
  fabric::Mapping memory_;
};

// The owning thread's. All it is given outlives it.
class SegmentExchange {
 public:
  using Done = UniqueFunction<void(Result<std::shared_ptr<const MappedSegment>>)>;

  // `arena` is null in a process that is no home.
  SegmentExchange(call::Engine& engine, Scheduler& scheduler, Arena* arena);

  // Calls `done` once. Errors: unsupported (the home is on another host, or reached over tcp),
  // not_found, node_lost, unreachable, deadline, resource_exhausted, protocol_violation.
  void map(const SegmentKey& wanted, Duration at_most, Done done);

  // What the engine hands up (call::Grants).
  bool on_message(NodeId from, const wire::Header& header, Bytes body) {
    return grants_.on_message(from, header, body);
  }
  bool on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors) {
    return grants_.on_descriptors(from, header, body, descriptors);
  }
  void on_lost(NodeId node, const Error& why) { grants_.on_lost(node, why); }

 private:
  [[nodiscard]] Status grant(NodeId asker, const wire::Header& question);

  call::Engine& engine_;
  Arena* arena_;
  call::Grants grants_;
};

}  // namespace godwit::ref
