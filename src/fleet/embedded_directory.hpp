// The directory that lives in the fleet's own nodes: a table each, kept alike by gossip.
#pragma once

#include "fleet/directory.hpp"
#include "fleet/gossip.hpp"

namespace godwit::fleet {

// Writes always end at once. compare_and_put() compares with this process's view: it orders the
// writers of one process, and of several only as long as they write one after another.
class EmbeddedDirectory final : public Directory {
 public:
  struct Options {
    Table::Self self;
    GossipOptions gossip{};
    TableLimits limits{};
  };
  // The scheduler and the links outlive the directory.
  EmbeddedDirectory(Options options, Scheduler& scheduler, Links& links)
      : table_(options.self, options.limits),
        gossip_(scheduler, links, table_, std::move(options.gossip)) {}

  // To be told of messages and links (start, on_table, peer_up, peer_lost, greeting).
  [[nodiscard]] Gossip& gossip() noexcept { return gossip_; }
  [[nodiscard]] const Table& table() const noexcept { return table_; }

  Status publish(NodeRecord record) override { return table_.publish(std::move(record)); }
  void leave() override;
  NodeList nodes() const override { return table_.nodes(); }
  std::optional<NodeRecord> node(NodeId id) const override;
  void seek(NodeId id) override;
  Result<NodeRecord> find(std::string_view text) const override { return table_.find(text); }
  void put_name(std::string_view key, Bytes value, Done done) override;
  void compare_and_put(std::string_view key, const Version& expected, Bytes value,
                       Done done) override;
  void erase_name(std::string_view key, Done done) override;
  std::optional<NameEntry> find_name(std::string_view key) const override;
  std::vector<NameEntry> names(std::string_view prefix) const override {
    return table_.names(prefix);
  }
  WatchId watch(WatchCallback callback) override { return table_.watch(std::move(callback)); }
  void unwatch(WatchId id) override { table_.unwatch(id); }

 private:
  Table table_;
  Gossip gossip_;
};

}  // namespace godwit::fleet
