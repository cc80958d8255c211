#include "fleet/embedded_directory.hpp"

namespace godwit::fleet {

void EmbeddedDirectory::leave() {
  if (!table_.published()) return;
  NodeRecord record = *table_.published();
  record.state = NodeState::leaving;
  (void)table_.publish(std::move(record));  // a table without versions left has nobody to tell
  gossip_.push_now();
}

std::optional<NodeRecord> EmbeddedDirectory::node(NodeId id) const {
  const NodeEntry* entry = table_.node(id);
  return entry == nullptr ? std::nullopt : std::optional(entry->record);
}

void EmbeddedDirectory::seek(NodeId id) {
  if (table_.node(id) == nullptr) gossip_.compare_now();
}

void EmbeddedDirectory::put_name(std::string_view key, Bytes value, Done done) {
  done(table_.put_name(key, value));
}

void EmbeddedDirectory::compare_and_put(std::string_view key, const Version& expected, Bytes value,
                                        Done done) {
  done(table_.compare_and_put(key, expected, value));
}

void EmbeddedDirectory::erase_name(std::string_view key, Done done) {
  done(table_.erase_name(key));
}

std::optional<NameEntry> EmbeddedDirectory::find_name(std::string_view key) const {
  const NameEntry* entry = table_.find_name(key);
  return entry == nullptr ? std::nullopt : std::optional(*entry);
}

}  // namespace godwit::fleet
