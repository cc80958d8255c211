// What gossip answers to a table message. No state is kept between messages: each says enough to
// be answered, and the chain probe, buckets, summary, wants ends by itself.
#include <algorithm>
#include <bitset>
#include <utility>

#include "fleet/gossip.hpp"

namespace godwit::fleet {

Status Gossip::on_table(NodeId from, Bytes bytes) {
  Result<TableMessage> decoded = decode(bytes);
  if (!decoded) {
    ++counters_.malformed_messages;
    return tl::unexpected(std::move(decoded).error());
  }
  const TableMessage& message = *decoded;
  const Table::Merged merged = table_.merge(message.nodes, message.names);
  counters_.entries_learned += merged.changed.size();
  counters_.entries_refused += merged.refused;
  learned_ = learned_ || !merged.changed.empty();
  joined_ = joined_ || (learned_ && message.root == table_.digest().root());
  if (message.rumour) {
    for (const std::uint64_t key : merged.changed) heat(key);
  }
  const std::uint64_t own = key_of(table_.self().node);
  if (std::find(merged.changed.begin(), merged.changed.end(), own) != merged.changed.end()) {
    contradict();
  }
  if (!started_) return {};
  if (message.probe && message.root != table_.digest().root()) answer_probe(from);
  if (!message.buckets.empty()) answer_buckets(from, message);
  if (!message.summary_buckets.empty()) answer_summary(from, message);
  if (!message.wants.empty()) answer_wants(from, message);
  // Only while it gets us further, or a peer could keep us busy for ever.
  if (message.more && !merged.changed.empty()) probe(from);
  return {};
}

void Gossip::answer_probe(NodeId from) {
  const auto& buckets = table_.digest().buckets();
  send(from, {.root = table_.digest().root(), .buckets = {buckets.begin(), buckets.end()}});
}

void Gossip::answer_buckets(NodeId from, const TableMessage& message) {
  TableMessage answer{.root = table_.digest().root()};
  // From a random bucket on, so that what does not fit now has its turn another time.
  const std::size_t start = random_.below(Digest::kBuckets);
  for (std::size_t i = 0; i < Digest::kBuckets; ++i) {
    const auto bucket = static_cast<std::uint8_t>((start + i) % Digest::kBuckets);
    if (message.buckets[bucket] == table_.digest().buckets()[bucket]) continue;
    const std::size_t before = answer.summary.size();
    table_.digest().for_each(bucket, [&](std::uint64_t key, const Digest::Slot& slot) {
      answer.summary.push_back({key, slot.fingerprint});
    });
    if (answer.summary.size() > kStampsPerMessage) {
      answer.summary.resize(before);
      break;
    }
    answer.summary_buckets.push_back(bucket);
  }
  if (!answer.summary_buckets.empty()) send(from, answer);
}

void Gossip::answer_summary(NodeId from, const TableMessage& message) {
  std::vector<Stamp> stamps = message.summary;
  std::sort(stamps.begin(), stamps.end(),
            [](const Stamp& a, const Stamp& b) { return a.key < b.key; });
  const auto differs = [&](std::uint64_t key, const Digest::Slot& slot) {
    const auto it = std::lower_bound(stamps.begin(), stamps.end(), key,
                                     [](const Stamp& a, std::uint64_t b) { return a.key < b; });
    return it == stamps.end() || it->key != key || it->fingerprint != slot.fingerprint;
  };
  TableMessage answer{.root = table_.digest().root()};
  std::size_t bytes = 0;
  std::bitset<Digest::kBuckets> buckets;  // a hostile sender may name one many times
  for (const std::uint8_t bucket : message.summary_buckets) buckets.set(bucket);
  for (std::size_t bucket = 0; bucket < Digest::kBuckets && !answer.more; ++bucket) {
    if (!buckets.test(bucket)) continue;
    table_.digest().for_each(static_cast<std::uint8_t>(bucket),
                             [&](std::uint64_t key, const Digest::Slot& slot) {
                               if (answer.more || !differs(key, slot)) return;
                               if (!add_entry(answer, bytes, key)) answer.more = true;
                             });
  }
  for (const Stamp& stamp : stamps) {
    const Digest::Slot* slot = table_.digest().find(stamp.key);
    if (slot != nullptr && slot->fingerprint == stamp.fingerprint) continue;
    if (answer.wants.size() >= kWantsPerMessage) break;
    answer.wants.push_back(stamp.key);
  }
  if (!answer.nodes.empty() || !answer.names.empty() || !answer.wants.empty()) {
    send(from, answer);
  }
}

void Gossip::answer_wants(NodeId from, const TableMessage& message) {
  TableMessage answer{.root = table_.digest().root()};
  std::size_t bytes = 0;
  for (const std::uint64_t key : message.wants) {
    if (add_entry(answer, bytes, key)) continue;
    answer.more = true;
    break;
  }
  if (!answer.nodes.empty() || !answer.names.empty()) send(from, answer);
}

bool Gossip::add_entry(TableMessage& message, std::size_t& bytes, std::uint64_t key) {
  if (message.nodes.size() + message.names.size() >= kEntriesPerMessage) return false;
  const NodeEntry* node = table_.node_by_key(key);
  const NameEntry* name = table_.name_by_key(key);
  if (node == nullptr && name == nullptr) return true;  // gone in the meantime: nothing to send
  const std::size_t size = node != nullptr ? encoded_size_bytes(*node) : encoded_size_bytes(*name);
  if (bytes + size > kEntryBytesPerMessage) return false;
  bytes += size;
  if (node != nullptr) message.nodes.push_back(*node);
  if (name != nullptr) message.names.push_back(*name);
  return true;
}

void Gossip::send(NodeId to, const TableMessage& message) {
  send_bytes(to, encode(message), message.nodes.size() + message.names.size());
}

void Gossip::send_bytes(NodeId to, Bytes bytes, std::size_t entry_count) {
  ++counters_.messages_sent;
  counters_.bytes_sent += bytes.size();
  counters_.entries_sent += entry_count;
  links_.send_table(to, bytes);
}

}  // namespace godwit::fleet
