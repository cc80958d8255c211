#include "fleet/table.hpp"

#include <cassert>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fleet {

Result<Version> Table::next_version() {
  assert(!watchers_.notifying());
  if (clock_ >= kMaxCounter) {
    return fail(ErrorCode::resource_exhausted,
                "the fleet's table has used up its versions; restart the fleet");
  }
  return Version{++clock_, self_.node, self_.epoch};
}

Status Table::publish(NodeRecord record) {
  record.id = self_.node;
  record.epoch = self_.epoch;
  GODWIT_CHECK(validate(record));
  if (!nodes_.contains(record.id) && nodes_.size() >= limits_.max_nodes) {
    return fail(ErrorCode::resource_exhausted, "cannot publish node {}: the table holds {} already",
                record.name, nodes_.size());
  }
  GODWIT_TRY(const Version version, next_version());
  const std::uint64_t key = key_of(record.id);
  published_ = record;
  store(NodeEntry{std::move(record), version});
  notify(key, true);
  return {};
}

bool Table::mark_lost(NodeId node, Epoch epoch) {
  const auto it = nodes_.find(node);
  if (it == nodes_.end() || node == self_.node) return false;
  if (it->second.record.epoch != epoch || it->second.record.state == NodeState::lost) return false;
  const Result<Version> version = next_version();
  if (!version) return false;
  NodeEntry entry = it->second;
  entry.record.state = NodeState::lost;
  entry.version = *version;
  if (!store(std::move(entry))) return false;
  notify(key_of(node), true);
  return true;
}

const NodeEntry* Table::node(NodeId node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

NodeList Table::nodes() const {
  if (node_list_ == nullptr) {
    auto list = std::make_shared<std::vector<NodeRecord>>();
    list->reserve(nodes_.size());
    for (const auto& [name, ids] : nodes_by_name_) {
      for (const NodeId id : ids) list->push_back(nodes_.at(id).record);
    }
    node_list_ = std::move(list);
  }
  return node_list_;
}

Result<Version> Table::put_name(std::string_view key, Bytes value) {
  return write_name({.key = std::string(key), .value = {value.begin(), value.end()}});
}

Result<Version> Table::compare_and_put(std::string_view key, const Version& expected, Bytes value) {
  const NameEntry* entry = find_name(key);
  const Version found = entry == nullptr ? Version{} : entry->version;
  if (found != expected) {
    return fail(ErrorCode::already_exists,
                "shared name '{}' is at version {}, not at the expected {}; read it again", key,
                found.counter, expected.counter);
  }
  return put_name(key, value);
}

Result<Version> Table::erase_name(std::string_view key) {
  if (find_name(key) == nullptr) {
    return fail(ErrorCode::not_found, "shared name '{}' does not exist", key);
  }
  return write_name({.key = std::string(key), .erased = true});
}

Result<Version> Table::write_name(NameEntry entry) {
  if (!names_.contains(entry.key) && names_.size() >= limits_.max_names) {
    return fail(ErrorCode::resource_exhausted,
                "cannot share name '{}': the table holds {} names already; erase some", entry.key,
                names_.size());
  }
  GODWIT_TRY(entry.version, next_version());
  GODWIT_CHECK(validate(entry));
  const Version version = entry.version;
  const std::uint64_t key = key_of(entry.key);
  if (store(std::move(entry))) notify(key, true);
  return version;
}

const NameEntry* Table::find_name(std::string_view key) const {
  const auto it = names_.find(key);
  return it == names_.end() || it->second.erased ? nullptr : &it->second;
}

std::vector<NameEntry> Table::names(std::string_view prefix) const {
  std::vector<NameEntry> found;
  for (auto it = names_.lower_bound(prefix); it != names_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    if (!it->second.erased) found.push_back(it->second);
  }
  return found;
}

const NodeEntry* Table::node_by_key(std::uint64_t key) const {
  const Digest::Slot* slot = digest_.find(key);
  return slot == nullptr || slot->name != nullptr ? nullptr : node(slot->node);
}

const NameEntry* Table::name_by_key(std::uint64_t key) const {
  const Digest::Slot* slot = digest_.find(key);
  if (slot == nullptr || slot->name == nullptr) return nullptr;
  return &names_.find(*slot->name)->second;
}

}  // namespace godwit::fleet
