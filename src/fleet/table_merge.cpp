// How entries enter the table, and how dead ones leave it.
#include <algorithm>
#include <cassert>
#include <utility>

#include "fleet/table.hpp"

namespace godwit::fleet {

Table::Merged Table::merge(std::span<const NodeEntry> nodes, std::span<const NameEntry> names) {
  assert(!watchers_.notifying());
  Merged merged;
  const auto offer = [&](const auto& entry, const auto& existing, const auto& key, bool has_room) {
    if (!validate(entry)) {
      ++merged.refused;
      return;
    }
    clock_ = std::max(clock_, entry.version.counter);
    const auto it = existing.find(key);
    if (it == existing.end() ? !has_room : !replaces(entry, it->second)) {
      if (it == existing.end()) ++merged.refused;
      return;
    }
    if (store(entry)) merged.changed.push_back(key_of(key));
  };
  for (const NodeEntry& entry : nodes) {
    offer(entry, nodes_, entry.record.id, nodes_.size() < limits_.max_nodes);
  }
  for (const NameEntry& entry : names) {
    offer(entry, names_, entry.key, names_.size() < limits_.max_names);
  }
  // Told once all is in, so that a watcher sees one consistent table.
  for (const std::uint64_t key : merged.changed) notify(key, false);
  return merged;
}

bool Table::store(NodeEntry entry) {
  const NodeId id = entry.record.id;
  const std::uint64_t key = key_of(id);
  const auto [it, is_new] = nodes_.try_emplace(id);
  NodeEntry& existing = it->second;
  if (!is_new) graves_.erase({existing.version, key});
  if (is_new || existing.record.name != entry.record.name) {
    if (!is_new) unlist(existing.record);
    nodes_by_name_[entry.record.name].insert(id);
  }
  digest_.set(key, {.fingerprint = fingerprint(entry), .node = id});
  const bool is_grave = entry.record.state == NodeState::lost;
  const Version version = entry.version;
  existing = std::move(entry);
  node_list_.reset();
  return !is_grave || dig(version, key);
}

bool Table::store(NameEntry entry) {
  const std::uint64_t key = key_of(entry.key);
  drop(key);
  const std::uint64_t hash = fingerprint(entry);
  const bool is_grave = entry.erased;
  const Version version = entry.version;
  std::string name = entry.key;
  const auto it = names_.emplace(std::move(name), std::move(entry)).first;
  digest_.set(key, {.fingerprint = hash, .node = {}, .name = &it->first});
  return !is_grave || dig(version, key);
}

bool Table::dig(const Version& version, std::uint64_t key) {
  graves_.insert({version, key});
  bool kept = true;
  while (graves_.size() > limits_.max_graves) {
    const std::uint64_t oldest = graves_.begin()->key;
    kept = kept && oldest != key;
    drop(oldest);
  }
  return kept;
}

// Takes the entry out of every index.
void Table::drop(std::uint64_t key) {
  const Digest::Slot* slot = digest_.find(key);
  if (slot == nullptr) return;
  if (slot->name != nullptr) {
    const auto it = names_.find(*slot->name);
    graves_.erase({it->second.version, key});
    digest_.erase(key);
    names_.erase(it);
    return;
  }
  const auto it = nodes_.find(slot->node);
  graves_.erase({it->second.version, key});
  digest_.erase(key);
  unlist(it->second.record);
  nodes_.erase(it);
  node_list_.reset();
}

void Table::unlist(const NodeRecord& record) {
  const auto named = nodes_by_name_.find(record.name);
  named->second.erase(record.id);
  if (named->second.empty()) nodes_by_name_.erase(named);
}

void Table::notify(std::uint64_t key, bool local) {
  const Change change{key, local, node_by_key(key), name_by_key(key)};
  if (change.node != nullptr || change.name != nullptr) watchers_.notify(change);
}

}  // namespace godwit::fleet
