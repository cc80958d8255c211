// This process's view of the fleet: node records and shared names, each entry with a version.
//
// Two tables that have merged the same entries, in whatever order and however often, are equal
// (as long as neither is full). Gossip makes all tables of a fleet merge each other's entries; a
// view lags behind the others' by moments, or by the length of a partition.
//
// Threads: the owning thread only. Cost: O(log entries), unless a member says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "fleet/digest.hpp"
#include "fleet/entry.hpp"
#include "fleet/limits.hpp"
#include "fleet/watchers.hpp"

namespace godwit::fleet {

// Nodes in order of their names (then ids), as they were at one moment; may cross threads.
using NodeList = std::shared_ptr<const std::vector<NodeRecord>>;

class Table {
 public:
  struct Self {
    NodeId node;
    Epoch epoch;
  };
  explicit Table(Self self, TableLimits limits = {}) : self_(self), limits_(limits) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // -- Nodes -------------------------------------------------------------------------------------

  // Writes this process's own record; id and epoch are filled in.
  Status publish(NodeRecord record);
  // What publish() wrote last, whatever others have written over it since.
  [[nodiscard]] const std::optional<NodeRecord>& published() const noexcept { return published_; }
  // Writes that the node is lost, if its record is of that epoch and not lost already.
  bool mark_lost(NodeId node, Epoch epoch);
  // Null if unknown. Valid until the table changes.
  [[nodiscard]] const NodeEntry* node(NodeId node) const;
  // All of them, the lost included. Costs O(nodes) after a change, nothing otherwise.
  [[nodiscard]] NodeList nodes() const;
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }
  // The node with that name, that id (16 hexadecimal digits), or the only one whose id starts with
  // those digits (4 or more). Nodes that are not lost come first. not_found names candidates,
  // invalid_argument says between which nodes the text does not decide.
  [[nodiscard]] Result<NodeRecord> find(std::string_view text) const;

  // -- Names -------------------------------------------------------------------------------------

  // Of two that write one name without knowing of each other, the later version wins everywhere
  // and the other's value is gone.
  Result<Version> put_name(std::string_view key, Bytes value);
  // Writes only if the name's version is `expected` (Version{}: the name must not exist), else
  // fails with already_exists and changes nothing. Checked against this view alone: two nodes may
  // both succeed at the same time, and then one of them loses as with put_name().
  Result<Version> compare_and_put(std::string_view key, const Version& expected, Bytes value);
  // not_found if the name does not exist here.
  Result<Version> erase_name(std::string_view key);
  // Null if the name does not exist. Valid until the table changes.
  [[nodiscard]] const NameEntry* find_name(std::string_view key) const;
  // Names that start with the prefix, in order. Costs O(names found).
  [[nodiscard]] std::vector<NameEntry> names(std::string_view prefix) const;

  // -- Changes -----------------------------------------------------------------------------------

  // The callback hears of every change, on the owning thread; it must not write to the table.
  WatchId watch(WatchCallback callback) { return watchers_.add(std::move(callback)); }
  void unwatch(WatchId id) { watchers_.remove(id); }

  struct Merged {
    std::vector<std::uint64_t> changed;  // keys of entries that were news
    std::size_t refused = 0;             // invalid, or the table is full
  };
  Merged merge(std::span<const NodeEntry> nodes, std::span<const NameEntry> names);

  // -- For Gossip --------------------------------------------------------------------------------

  [[nodiscard]] Self self() const noexcept { return self_; }
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }
  [[nodiscard]] const NodeEntry* node_by_key(std::uint64_t key) const;
  [[nodiscard]] const NameEntry* name_by_key(std::uint64_t key) const;

 private:
  struct Grave {
    Version version;
    std::uint64_t key = 0;
    friend auto operator<=>(const Grave&, const Grave&) = default;
  };

  Result<Version> next_version();
  Result<Version> write_name(NameEntry entry);
  // Put the entry in place of an older one; false if it was forgotten at once (too old a grave).
  bool store(NodeEntry entry);
  bool store(NameEntry entry);
  bool dig(const Version& version, std::uint64_t key);
  void drop(std::uint64_t key);
  void unlist(const NodeRecord& record);
  void notify(std::uint64_t key, bool local);
  [[nodiscard]] Result<NodeRecord> find_by_id_prefix(std::string_view digits) const;
  [[nodiscard]] std::string candidates(std::string_view text) const;

  const Self self_;
  const TableLimits limits_;
  std::uint64_t clock_ = 0;  // the greatest counter seen
  std::optional<NodeRecord> published_;
  std::map<NodeId, NodeEntry> nodes_;
  std::map<std::string, NameEntry, std::less<>> names_;
  std::map<std::string, std::set<NodeId>, std::less<>> nodes_by_name_;
  std::set<Grave> graves_;
  Digest digest_;
  Watchers watchers_;
  mutable NodeList node_list_;  // null: to be made again
};

}  // namespace godwit::fleet
