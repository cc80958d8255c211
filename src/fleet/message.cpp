#include "fleet/message.hpp"

#include <cstring>

#include "base/fail.hpp"
#include "fleet/digest.hpp"
#include "fleet/limits.hpp"
#include "wire/table_generated.h"

namespace godwit::fleet {

namespace {

using flatbuffers::FlatBufferBuilder;

wire::EntryVersion pack(const Version& version) {
  return {version.counter, version.writer.value, version.epoch.value};
}
Version unpack(const wire::EntryVersion& version) {
  return {version.counter(), {version.writer()}, {version.epoch()}};
}
std::string unpack(const flatbuffers::String* text) {
  return text ? text->str() : std::string();
}

flatbuffers::Offset<wire::Node> pack(FlatBufferBuilder& builder, const NodeEntry& entry) {
  const NodeRecord& record = entry.record;
  const wire::EntryVersion version = pack(entry.version);
  const auto name = builder.CreateString(record.name);
  const auto addresses = builder.CreateVectorOfStrings(record.addresses);
  const auto target = wire::CreateNodeTarget(
      builder, builder.CreateString(record.target.arch), builder.CreateString(record.target.cpu),
      builder.CreateString(record.target.os), record.target.has_jit, record.target.llvm_major);
  const auto capacities = wire::CreateNodeCapacities(
      builder, record.capacities.cores, record.capacities.memory_bytes, record.capacities.gpus);
  return wire::CreateNode(builder, record.id.value, record.epoch.value, &version,
                          static_cast<wire::NodeState>(record.state),
                          static_cast<wire::NodeRole>(record.role), name, addresses, target,
                          capacities);
}

NodeEntry unpack(const wire::Node& node) {
  NodeEntry entry;
  entry.version = unpack(*node.version());
  NodeRecord& record = entry.record;
  record.id = {node.id()};
  record.epoch = {node.epoch()};
  record.state = static_cast<NodeState>(node.state());
  record.role = static_cast<NodeRole>(node.role());
  record.name = unpack(node.name());
  if (node.addresses() != nullptr) {
    for (const flatbuffers::String* address : *node.addresses()) {
      record.addresses.push_back(unpack(address));
    }
  }
  if (const wire::NodeTarget* target = node.target()) {
    record.target = {unpack(target->arch()), unpack(target->cpu()), unpack(target->os()),
                     target->has_jit(), target->llvm_major()};
  }
  if (const wire::NodeCapacities* capacities = node.capacities()) {
    record.capacities = {capacities->cores(), capacities->memory_bytes(), capacities->gpus()};
  }
  return entry;
}

flatbuffers::Offset<wire::Name> pack(FlatBufferBuilder& builder, const NameEntry& entry) {
  const wire::EntryVersion version = pack(entry.version);
  const auto key = builder.CreateString(entry.key);
  const auto value = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(entry.value.data()),
                                          entry.value.size());
  return wire::CreateName(builder, key, &version, entry.erased, value);
}

NameEntry unpack(const wire::Name& name) {
  NameEntry entry;
  entry.key = unpack(name.key());
  entry.version = unpack(*name.version());
  entry.erased = name.erased();
  if (name.value() != nullptr) {
    const Bytes value = std::as_bytes(std::span(name.value()->data(), name.value()->size()));
    entry.value.assign(value.begin(), value.end());
  }
  return entry;
}

template <class T, class Vector>
void copy_scalars(std::vector<T>& to, const Vector* from) {
  if (from == nullptr) return;
  to.reserve(from->size());
  for (const auto value : *from) to.push_back(value);
}

// One vector or string of a message is longer than any honest sender makes it. Checked before
// anything is copied: in FlatBuffers a thousand entries may share one long string.
template <class Vector>
bool too_many(const Vector* vector, std::size_t limit) {
  return vector != nullptr && vector->size() > limit;
}

// The verifier checks the alignment of fields, but not that of a vector's elements.
template <class Vector>
bool misaligned(const Vector* vector) {
  return vector != nullptr &&
         reinterpret_cast<std::uintptr_t>(vector->Data()) % alignof(std::uint64_t) != 0;
}

Status check_vectors(const wire::TableBody& table) {
  if (misaligned(table.buckets()) || misaligned(table.wants()) || misaligned(table.summary())) {
    return fail(ErrorCode::bad_format, "a table message has a misaligned vector");
  }
  if (table.buckets() != nullptr && table.buckets()->size() != Digest::kBuckets) {
    return fail(ErrorCode::bad_format, "a table message has {} buckets instead of {}",
                table.buckets()->size(), Digest::kBuckets);
  }
  if (too_many(table.summary_buckets(), Digest::kBuckets) ||
      too_many(table.summary(), kStampsPerMessage) || too_many(table.wants(), kWantsPerMessage) ||
      too_many(table.nodes(), kEntriesPerMessage) || too_many(table.names(), kEntriesPerMessage)) {
    return fail(ErrorCode::too_large, "a table message lists more than one message may");
  }
  return {};
}

bool too_large(const wire::Node& node) {
  if (too_many(node.name(), kMaxNodeNameBytes) || too_many(node.addresses(), kMaxAddresses)) {
    return true;
  }
  if (node.addresses() != nullptr) {
    for (const flatbuffers::String* address : *node.addresses()) {
      if (too_many(address, kMaxAddressBytes)) return true;
    }
  }
  const wire::NodeTarget* target = node.target();
  return target != nullptr && (too_many(target->arch(), kMaxTargetFieldBytes) ||
                               too_many(target->cpu(), kMaxTargetFieldBytes) ||
                               too_many(target->os(), kMaxTargetFieldBytes));
}

bool too_large(const wire::Name& name) {
  return too_many(name.key(), kMaxKeyBytes) || too_many(name.value(), kMaxValueBytes);
}

template <class Entry, class Vector>
Status unpack_entries(std::vector<Entry>& to, const Vector* from) {
  if (from == nullptr) return {};
  for (const auto* entry : *from) {
    if (too_large(*entry)) {
      return fail(ErrorCode::too_large, "a table message has an entry beyond the table's limits");
    }
    to.push_back(unpack(*entry));
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode(const TableMessage& message) {
  FlatBufferBuilder builder(1024);
  std::vector<flatbuffers::Offset<wire::Node>> nodes;
  for (const NodeEntry& entry : message.nodes) nodes.push_back(pack(builder, entry));
  std::vector<flatbuffers::Offset<wire::Name>> names;
  for (const NameEntry& entry : message.names) names.push_back(pack(builder, entry));
  std::vector<wire::Stamp> stamps;
  for (const Stamp& stamp : message.summary) stamps.emplace_back(stamp.key, stamp.fingerprint);
  const auto offset_or_none = [](const auto& items, auto make) {
    return items.empty() ? decltype(make()){} : make();
  };
  const auto buckets =
      offset_or_none(message.buckets, [&] { return builder.CreateVector(message.buckets); });
  const auto summary_buckets = offset_or_none(
      message.summary_buckets, [&] { return builder.CreateVector(message.summary_buckets); });
  const auto summary =
      offset_or_none(stamps, [&] { return builder.CreateVectorOfStructs(stamps); });
  const auto wants =
      offset_or_none(message.wants, [&] { return builder.CreateVector(message.wants); });
  const auto node_vector = offset_or_none(nodes, [&] { return builder.CreateVector(nodes); });
  const auto name_vector = offset_or_none(names, [&] { return builder.CreateVector(names); });
  wire::FinishTableBodyBuffer(
      builder,
      wire::CreateTableBody(builder, message.root, message.probe, message.rumour, message.more,
                            buckets, summary_buckets, summary, wants, node_vector, name_vector));
  const Bytes bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

Result<TableMessage> decode(Bytes bytes) {
  if (bytes.size() > kMaxMessageBytes) {
    return fail(ErrorCode::too_large, "a table message has {} bytes, more than {}", bytes.size(),
                kMaxMessageBytes);
  }
  // FlatBuffers reads in place and wants its alignment; a ring gives none.
  Buffer aligned;
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
    aligned = Buffer::copy_of(bytes);
    bytes = aligned.view();
  }
  constexpr int kMaxDepth = 8;
  constexpr int kTablesPerEntry = 3;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                 kMaxDepth, 2 * kTablesPerEntry * kEntriesPerMessage);
  if (!wire::VerifyTableBodyBuffer(verifier)) {
    return fail(ErrorCode::bad_format, "{} bytes are not a table message", bytes.size());
  }
  const wire::TableBody& table = *wire::GetTableBody(bytes.data());
  GODWIT_CHECK(check_vectors(table));
  TableMessage message{
      .root = table.root(), .probe = table.probe(), .rumour = table.rumour(), .more = table.more()};
  copy_scalars(message.buckets, table.buckets());
  copy_scalars(message.summary_buckets, table.summary_buckets());
  copy_scalars(message.wants, table.wants());
  if (table.summary() != nullptr) {
    for (const wire::Stamp* stamp : *table.summary()) {
      message.summary.push_back({stamp->key(), stamp->fingerprint()});
    }
  }
  GODWIT_CHECK(unpack_entries(message.nodes, table.nodes()));
  GODWIT_CHECK(unpack_entries(message.names, table.names()));
  return message;
}

}  // namespace godwit::fleet
