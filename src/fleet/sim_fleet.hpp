// For the tests of this folder: a fleet of directories in a simulated world, with just enough of a
// node around each to carry table messages over links.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/sim/world.hpp"
#include "fleet/embedded_directory.hpp"

namespace godwit::fleet {

using fabric::sim::ProcessId;
using fabric::sim::World;

class SimNode final : public fabric::TransportEvents, public Links {
 public:
  SimNode(World& world, ProcessId self, GossipOptions gossip)
      : node_id_(world.node_id(self)),
        transport_(world.transport(self, *this)),
        directory({.self = {node_id_, world.epoch(self)}, .gossip = std::move(gossip)},
                  world.scheduler(self), *this) {
    EXPECT_TRUE(transport_->listen(world.address(self)));
    NodeRecord record;
    record.name = "n" + std::to_string(self.index);
    record.addresses = {world.address(self).to_string()};
    record.target = {"x86_64", "znver4", "linux", true, 19};
    record.capacities = {16, std::uint64_t{64} << 30U, 0};
    EXPECT_TRUE(directory.publish(record));
    directory.gossip().start();
  }

  void send_table(NodeId to, Bytes message) override {
    if (const auto up = links_.find(to); up != links_.end()) return send(up->second, message);
    waiting_[to].emplace_back(message.begin(), message.end());
    if (waiting_[to].size() > 1) return;  // on its way
    const NodeEntry* entry = directory.table().node(to);
    if (entry == nullptr || entry->record.addresses.empty()) {
      waiting_.erase(to);
      return;
    }
    dialled_[dial(entry->record.addresses.front())] = to;
  }
  void reach(std::string_view address) override { dialled_[dial(address)] = NodeId{}; }

  void on_up(LinkId link, const fabric::Hello& peer) override {
    dialled_.erase(link);
    peers_[link] = {peer.node, peer.epoch};
    links_[peer.node] = link;
    directory.gossip().peer_up(peer.node);
    for (const auto& message : std::exchange(waiting_[peer.node], {})) send(link, message);
  }
  void on_down(LinkId link, const Error& /*why*/) override {
    borrowed_.erase(link);
    if (const auto dialled = dialled_.find(link); dialled != dialled_.end()) {
      const NodeId node = dialled->second;
      dialled_.erase(dialled);
      waiting_.erase(node);
      if (node) directory.gossip().peer_lost(node);
      return;
    }
    const Table::Self peer = peers_.at(link);
    peers_.erase(link);
    if (const auto it = links_.find(peer.node); it != links_.end() && it->second == link) {
      links_.erase(it);
      directory.gossip().peer_lost(peer.node, peer.epoch);
    }
  }
  void on_message(LinkId link, fabric::Message& message) override {
    EXPECT_TRUE(directory.gossip().on_table(peers_.at(link).node, message.body()));
  }
  void on_sent(LinkId link, std::uint64_t tag) override { borrowed_[link].erase(tag); }

 private:
  LinkId dial(std::string_view address) {
    return transport_->connect(fabric::Address::parse(address).value()).value();
  }
  void send(LinkId link, Bytes message) {
    const std::uint64_t tag = ++last_tag_;
    auto body = std::make_unique<std::vector<std::byte>>(message.begin(), message.end());
    const Bytes part = *body;
    const wire::Header header{.kind = wire::Kind::table};
    if (transport_->send(link, header, std::span(&part, 1), tag) == fabric::Sent::later) {
      borrowed_[link].emplace(tag, std::move(body));
    }
  }

  NodeId node_id_;
  std::unordered_map<NodeId, LinkId> links_;
  std::map<LinkId, Table::Self> peers_;
  std::map<LinkId, NodeId> dialled_;
  std::unordered_map<NodeId, std::vector<std::vector<std::byte>>> waiting_;
  std::map<LinkId, std::map<std::uint64_t, std::unique_ptr<std::vector<std::byte>>>> borrowed_;
  std::uint64_t last_tag_ = 0;
  std::unique_ptr<fabric::Transport> transport_;

 public:
  EmbeddedDirectory directory;
};

class SimFleet {
 public:
  SimFleet(std::uint64_t seed, std::size_t size, fabric::sim::Options options = {},
           GossipOptions gossip_options = {})
      : gossip(std::move(gossip_options)), world(seed, std::move(options)) {
    for (std::size_t i = 0; i < size; ++i) add();
  }
  // The first process is everyone's seed.
  ProcessId add() {
    const auto boot = [this](World& w, ProcessId self) {
      GossipOptions own = gossip;
      own.random_seed = w.seed();
      if (self.index != 1) own.seeds = {"sim:1"};
      auto node = std::make_shared<SimNode>(w, self, std::move(own));
      nodes[self] = node.get();
      return node;
    };
    processes.push_back(world.add_process(boot));
    return processes.back();
  }
  EmbeddedDirectory& of(ProcessId process) { return nodes.at(process)->directory; }

  // All living tables have the same root hash.
  bool agree() {
    const Table* first = nullptr;
    for (const ProcessId process : processes) {
      if (!world.is_up(process)) continue;
      const Table& table = of(process).table();
      if (first == nullptr) first = &table;
      if (table.digest().root() != first->digest().root()) return false;
    }
    return true;
  }
  // They agree, and on the truth: the living are up, the dead are lost or forgotten.
  bool settled() {
    if (!agree()) return false;
    const Table* table = nullptr;
    for (const ProcessId process : processes) {
      if (world.is_up(process)) table = &of(process).table();
    }
    for (const ProcessId process : processes) {
      const NodeEntry* entry = table->node(world.node_id(process));
      const bool seen_up = entry != nullptr && entry->record.state == NodeState::up &&
                           entry->record.epoch == world.epoch(process);
      if (seen_up != world.is_up(process)) return false;
    }
    return true;
  }
  // Simulated seconds until the condition holds, looking every 50 ms; negative if it does not.
  double seconds_until(const std::function<bool()>& condition, Duration limit) {
    const Time start = world.now();
    while (!condition()) {
      if (world.now() - start > limit) return -1;
      world.run_for(std::chrono::milliseconds(50));
    }
    return static_cast<double>((world.now() - start).count()) / 1e9;
  }

  GossipOptions gossip;
  std::map<ProcessId, SimNode*> nodes;
  World world;
  std::vector<ProcessId> processes;
};

}  // namespace godwit::fleet
