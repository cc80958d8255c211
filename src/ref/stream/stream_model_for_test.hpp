// What one topic of a StreamStore should do, written down as plainly as possible: item by item, and
// searched from end to end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ref/stream/stream_for_test.hpp"

namespace godwit::ref::stream {

struct ModelItem {
  std::string text, metadata;
  std::size_t batch = 0;
  [[nodiscard]] std::size_t size() const { return text.size() + metadata.size(); }
};
struct ModelBatch {
  OffsetRange range;
  std::uint64_t size = 0, appended_bytes = 0;
  Time appended;
  bool alive = true;
};
struct ModelLease {
  LeaseId number;
  Holder holder;
  std::size_t group = 0;
  bool attached = true, lapsed = false;
  OffsetRange range;
  Time until;
  std::set<std::size_t> pins{};
};
struct Pending {
  std::uint64_t lease = 0;  // 0: nobody's
  std::uint32_t deliveries = 1;
};
struct ModelGroup {
  GroupKey key;
  std::string name;
  Filter filter;
  bool lasting = true, alive = true;
  std::uint64_t next = 0;
  std::map<std::uint64_t, Pending> pending{};
  std::set<std::uint64_t> members{};  // nodes
  std::map<std::uint64_t, std::uint32_t> deliveries{};
  std::set<std::uint64_t> owed{};
};

class StreamModel {
 public:
  StreamModel(const ManualClock& clock, const TopicOptions& options)
      : clock_(clock), options_(options) {}

  std::vector<ModelItem> items;
  std::vector<ModelBatch> batches;
  std::vector<ModelGroup> groups;
  std::vector<ModelLease> leases;
  std::map<std::uint64_t, std::pair<Holder, ProducerKind>> producers;  // by node
  std::map<std::uint64_t, std::pair<Holder, Time>> holders;
  ErrorCode ended = ErrorCode::none;  // shutting_down: closed
  std::uint64_t appended_bytes = 0;
  bool disturbed = false;  // somebody died, or a lease lapsed

  // --- Holders ---
  bool admit(Holder holder) {
    const auto known = holders.find(holder.node.value);
    if (known != holders.end()) {
      const Holder earlier = known->second.first;
      if (holder.epoch < earlier.epoch) return false;
      if (holder.epoch == earlier.epoch) return true;
      die(earlier);
    }
    holders[holder.node.value] = {holder, clock_.now() + ObjectStore::kHolderLease};
    return true;
  }
  [[nodiscard]] bool knows(Holder holder) const {
    const auto known = holders.find(holder.node.value);
    return known != holders.end() && known->second.first == holder;
  }
  void die(Holder holder) {
    disturbed = true;
    holders.erase(holder.node.value);
    for (std::size_t i = leases.size(); i-- > 0;) {
      if (leases[i].holder == holder) end(i);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].alive && groups[i].members.contains(holder.node.value)) quit(holder, i);
    }
    const auto producer = producers.find(holder.node.value);
    if (producer != producers.end()) {
      const bool sole = producer->second.second == ProducerKind::sole;
      if (sole && ended == ErrorCode::none) ended = ErrorCode::node_lost;
      producers.erase(producer);
    }
    settle();
  }
  void sweep() {
    pass();
    for (const auto& [node, known] : std::map(holders)) {
      if (known.second <= clock_.now()) die(known.first);
    }
  }
  // To be called when time has passed.
  void pass() {
    for (ModelLease& lease : leases) {
      if (!lease.lapsed && lease.until <= clock_.now()) lapse(lease);
    }
    settle();
  }

  // --- Items ---
  [[nodiscard]] bool wants(const ModelGroup& group, std::uint64_t offset) const {
    const ModelItem& item = items[offset];
    return batches[item.batch].alive &&
           group.filter.accepts(offset, {bytes_of(item.text), bytes_of(item.metadata)});
  }
  // Whatever happens, these reach the group.
  void owe(ModelGroup& group, std::uint64_t from) const {
    for (std::uint64_t offset = from; offset < items.size(); ++offset) {
      if (wants(group, offset)) group.owed.insert(offset);
    }
  }
  [[nodiscard]] bool fits(std::uint64_t size) const {
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if (batches[i].alive && is_held(i)) held += batches[i].size;
    }
    return held + size <= options_.max_bytes;
  }
  void append(const std::vector<ModelItem>& added, std::uint64_t size) {
    for (std::size_t i = 0; i < batches.size() && kept_bytes() + size > options_.max_bytes; ++i) {
      if (batches[i].alive && !is_held(i)) batches[i].alive = false;
    }
    appended_bytes += size;
    batches.push_back({.range = {items.size(), items.size() + added.size()},
                       .size = size,
                       .appended_bytes = appended_bytes,
                       .appended = clock_.now()});
    for (ModelItem item : added) {
      item.batch = batches.size() - 1;
      items.push_back(item);
    }
    for (ModelGroup& group : groups) {
      if (group.alive) owe(group, batches.back().range.begin);
    }
    settle();
  }
  [[nodiscard]] std::uint64_t kept_bytes() const {
    std::uint64_t bytes = 0;
    for (const ModelBatch& batch : batches) bytes += batch.alive ? batch.size : 0;
    return bytes;
  }
  [[nodiscard]] std::size_t kept_batches() const {
    return static_cast<std::size_t>(std::count_if(
        batches.begin(), batches.end(), [](const ModelBatch& batch) { return batch.alive; }));
  }
  [[nodiscard]] std::uint64_t readable_from(std::uint64_t offset) const {
    while (offset < items.size() && !batches[items[offset].batch].alive) ++offset;
    return offset;
  }
  // What is delivered, in this order; the group goes on after it.
  std::vector<std::uint64_t> take(ModelGroup& group, const FetchOptions& limits) {
    std::vector<std::uint64_t> taken;
    std::uint64_t bytes = 0;
    const auto fit = [&](std::uint64_t offset) {
      const std::uint64_t size = BatchView::aligned(items[offset].size());
      if (taken.size() == limits.items || (!taken.empty() && bytes + size > limits.bytes)) {
        return false;
      }
      bytes = std::min(bytes + size, limits.bytes);
      taken.push_back(offset);
      return true;
    };
    for (const auto& [offset, pending] : group.pending) {
      if (pending.lease == 0 && !fit(offset)) return taken;
    }
    while (group.next < items.size() && (!wants(group, group.next) || fit(group.next))) {
      ++group.next;
    }
    return taken;
  }

  // --- Leases and groups ---
  void lapse(ModelLease& lease) {
    lease.lapsed = disturbed = true;
    if (!lease.attached) return;
    for (auto& [offset, pending] : groups[lease.group].pending) {
      if (pending.lease == lease.number.value) pending.lease = 0;
    }
  }
  void end(std::size_t lease) {
    lapse(leases[lease]);
    leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(lease));
    settle();
  }
  void detach(std::size_t group) {
    groups[group].pending.clear();
    for (ModelLease& lease : leases) {
      if (!lease.attached || lease.group != group) continue;
      lease.attached = false;
      lease.lapsed = true;
    }
  }
  void remove_group(std::size_t group) {
    detach(group);
    groups[group].alive = false;
    settle();
  }
  void quit(Holder holder, std::size_t group) {
    for (std::size_t i = leases.size(); i-- > 0;) {
      const ModelLease& lease = leases[i];
      if (lease.holder == holder && lease.attached && lease.group == group) end(i);
    }
    groups[group].members.erase(holder.node.value);
    if (groups[group].members.empty() && !groups[group].lasting) remove_group(group);
  }
  // Memory goes as soon as nobody needs it.
  void settle() {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if (batches[i].alive && !is_held(i) && !is_replayed(batches[i])) batches[i].alive = false;
    }
  }

 private:
  [[nodiscard]] bool is_held(std::size_t number) const {
    if (groups.size() < options_.groups_awaited) return true;
    for (const ModelLease& lease : leases) {
      if (lease.pins.contains(number)) return true;
    }
    const OffsetRange range = batches[number].range;
    return std::any_of(groups.begin(), groups.end(), [&](const ModelGroup& group) {
      const auto pending = group.pending.lower_bound(range.begin);
      return group.alive && (group.next < range.end ||
                             (pending != group.pending.end() && pending->first < range.end));
    });
  }
  [[nodiscard]] bool is_replayed(const ModelBatch& batch) const {
    const Replay& replay = options_.replay;
    return items.size() - batch.range.end < replay.items ||
           appended_bytes - batch.appended_bytes < replay.bytes ||
           batch.appended + replay.time > clock_.now();
  }

  const ManualClock& clock_;
  const TopicOptions options_;
};

}  // namespace godwit::ref::stream
