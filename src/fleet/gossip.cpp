#include "fleet/gossip.hpp"

#include <algorithm>
#include <utility>

namespace godwit::fleet {

namespace {

// Beyond this many changes at once the rest is left to the comparison of tables.
constexpr std::size_t kMaxHot = 4096;

}  // namespace

Gossip::Gossip(Scheduler& scheduler, Links& links, Table& table, GossipOptions options)
    : scheduler_(scheduler),
      links_(links),
      table_(table),
      options_(std::move(options)),
      random_(options_.random_seed ^ table.self().node.value) {
  const NodeList known = table_.nodes();
  for (const NodeRecord& record : *known) classify(record);
  watch_ = table_.watch([this](const Change& change) { on_change(change); });
}

Gossip::~Gossip() {
  table_.unwatch(watch_);
  if (round_armed_) scheduler_.cancel(round_timer_);
  if (push_armed_) scheduler_.cancel(push_timer_);
}

void Gossip::start() {
  started_ = true;
  for (const std::string& seed : options_.seeds) links_.reach(seed);
  arm();
}

void Gossip::on_change(const Change& change) {
  if (change.node != nullptr) classify(change.node->record);
  if (change.local) heat(change.key);
  arm();
}

void Gossip::classify(const NodeRecord& record) {
  if (record.id == table_.self().node) return;
  const bool reachable = record.role == NodeRole::node && !record.addresses.empty();
  if (reachable && record.state == NodeState::up) {
    peers_.insert(record.id);
  } else {
    peers_.erase(record.id);
    std::erase(neighbours_, record.id);
  }
  if (reachable && record.state == NodeState::lost) {
    lost_.insert(record.id);
  } else {
    lost_.erase(record.id);
  }
}

void Gossip::refill_neighbours() {
  // A few tries are enough: what is missing is found at the next chance.
  const std::size_t wanted = std::min(options_.fan_out, peers_.size());
  for (std::size_t tries = 0; neighbours_.size() < wanted && tries < 4 * wanted; ++tries) {
    const NodeId peer = peers_.pick(random_);
    if (std::find(neighbours_.begin(), neighbours_.end(), peer) == neighbours_.end()) {
      neighbours_.push_back(peer);
    }
  }
}

void Gossip::peer_up(NodeId node) {
  if (!started_ || node == table_.self().node) return;
  seed_pause_intervals_ = 1;
  send_bytes(node, greeting(), 1);
}

void Gossip::peer_lost(NodeId node, Epoch epoch) {
  const NodeEntry* entry = table_.node(node);
  if (entry == nullptr) return;
  table_.mark_lost(node, epoch ? epoch : entry->record.epoch);
}

std::vector<std::byte> Gossip::greeting() const {
  TableMessage message{.root = table_.digest().root(), .probe = true, .rumour = true};
  if (const NodeEntry* own = table_.node(table_.self().node)) message.nodes.push_back(*own);
  return encode(message);
}

void Gossip::arm() {
  if (!started_ || round_armed_) return;
  const bool alone = peers_.empty() && lost_.empty();
  if (alone && options_.seeds.empty()) return;
  // A quarter either way, so that the rounds of a fleet do not fall together.
  const auto quarter = static_cast<std::uint64_t>(options_.interval.count()) / 4;
  Duration pause = options_.interval - Duration(static_cast<Duration::rep>(quarter)) +
                   Duration(static_cast<Duration::rep>(random_.below(2 * quarter + 1)));
  if (alone) pause *= seed_pause_intervals_;
  round_armed_ = true;
  round_timer_ = scheduler_.post_at(scheduler_.now() + pause, [this] {
    round_armed_ = false;
    round();
    arm();
  });
}

void Gossip::round() {
  ++rounds_;
  if (peers_.empty() && !options_.seeds.empty()) {
    links_.reach(random_.pick(std::span(options_.seeds)));
    seed_pause_intervals_ = std::min(seed_pause_intervals_ * 2, options_.max_seed_pause_intervals);
  }
  if (rounds_ % options_.rounds_per_neighbour == 0 && neighbours_.size() == options_.fan_out) {
    neighbours_.erase(neighbours_.begin());
  }
  if (const NodeId partner = choose_partner()) probe(partner);
}

NodeId Gossip::choose_partner() {
  const bool try_lost = peers_.empty() || rounds_ % options_.rounds_per_lost_node == 0;
  if (try_lost && !lost_.empty()) return lost_.pick(random_);
  return pick_neighbour();
}

NodeId Gossip::pick_neighbour() {
  refill_neighbours();
  return neighbours_.empty() ? NodeId{} : random_.pick(std::span(neighbours_));
}

void Gossip::probe(NodeId peer) {
  send(peer, {.root = table_.digest().root(), .probe = true});
}

void Gossip::compare_now() {
  const Time now = scheduler_.now();
  const bool too_soon = compared_at_ && now < *compared_at_ + kComparePause;
  if (!started_ || too_soon) return;
  const NodeId neighbour = pick_neighbour();
  if (!neighbour) return;
  compared_at_ = now;
  probe(neighbour);
}

void Gossip::heat(std::uint64_t key) {
  if (hot_.size() >= kMaxHot) return;
  hot_.push_back(key);
  if (!started_ || push_armed_) return;
  push_armed_ = true;
  push_timer_ = scheduler_.post_at(scheduler_.now() + options_.push_delay, [this] {
    push_armed_ = false;
    push();
  });
}

void Gossip::push_now() {
  if (push_armed_) scheduler_.cancel(push_timer_);
  push_armed_ = false;
  if (started_ && !hot_.empty()) push();
}

void Gossip::push() {
  std::vector<std::uint64_t> keys = std::exchange(hot_, {});
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  refill_neighbours();
  if (neighbours_.empty()) return;
  TableMessage message{.root = table_.digest().root(), .rumour = true};
  std::size_t bytes = 0;
  for (const std::uint64_t key : keys) {
    if (!add_entry(message, bytes, key)) heat(key);  // with the next message
  }
  // The list may change under us: sending can end in a change of the table.
  const std::vector<NodeId> receivers = neighbours_;
  const std::vector<std::byte> encoded = encode(message);
  const std::size_t entry_count = message.nodes.size() + message.names.size();
  for (const NodeId peer : receivers) send_bytes(peer, encoded, entry_count);
}

// If someone else wrote our record, it was to say that we are lost. We are not.
void Gossip::contradict() {
  const Table::Self self = table_.self();
  const NodeEntry* own = table_.node(self.node);
  if (own == nullptr || !table_.published()) return;
  if (own->record.epoch > self.epoch) {
    ++counters_.identity_conflicts;
    return;
  }
  ++counters_.refutations;
  // It was valid when it was published first; at the table's last version there is nothing to say.
  (void)table_.publish(*table_.published());
}

}  // namespace godwit::fleet
