// What nodes tell each other about their tables: bytes <-> structs. wire/table.fbs is the format
// and says which field asks for which answer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "fleet/entry.hpp"

namespace godwit::fleet {

struct Stamp {
  std::uint64_t key = 0;
  std::uint64_t fingerprint = 0;
};

struct TableMessage {
  std::uint64_t root = 0;
  bool probe = false;
  bool rumour = false;
  bool more = false;
  std::vector<std::uint64_t> buckets{};  // Digest::kBuckets, or none
  std::vector<std::uint8_t> summary_buckets{};
  std::vector<Stamp> summary{};
  std::vector<std::uint64_t> wants{};
  std::vector<NodeEntry> nodes{};
  std::vector<NameEntry> names{};
};

[[nodiscard]] std::vector<std::byte> encode(const TableMessage& message);
// Anything may be passed in. bad_format or too_large, and why; what is returned keeps all limits
// of limits.hpp, but entries are not validated yet (Table::merge does).
[[nodiscard]] Result<TableMessage> decode(Bytes bytes);

}  // namespace godwit::fleet
