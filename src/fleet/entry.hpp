// The entries of the fleet's table, and the order in which they replace each other.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/record.hpp"

namespace godwit::fleet {

// When an entry was written. A writer's counter is greater than any it has seen before, so a write
// that knew of another one beats it; of two that did not know of each other one wins everywhere.
struct Version {
  std::uint64_t counter = 0;  // 0: never written
  NodeId writer{};
  Epoch epoch{};  // of the writer
  [[nodiscard]] explicit operator bool() const noexcept { return counter != 0; }
  friend auto operator<=>(const Version&, const Version&) = default;
};

struct NodeEntry {
  NodeRecord record;
  Version version;
};

struct NameEntry {
  std::string key{};
  std::vector<std::byte> value{};
  Version version{};
  bool erased = false;  // kept so that the name does not come back from a node that missed it
};

// An entry's identity in digests: a 64-bit hash; its top byte is the entry's bucket.
[[nodiscard]] std::uint64_t key_of(NodeId node) noexcept;
[[nodiscard]] std::uint64_t key_of(std::string_view name) noexcept;

// Hashes version and content: two tables with equal fingerprints hold the same entry. Not made to
// withstand a member of the fleet that lies.
[[nodiscard]] std::uint64_t fingerprint(const NodeEntry& entry);
[[nodiscard]] std::uint64_t fingerprint(const NameEntry& entry);

// True if `a` replaces `b`, two entries of one key. A total order: equal only if both are the same
// entry, so merging in any order ends in the same table.
[[nodiscard]] bool replaces(const NodeEntry& a, const NodeEntry& b);
[[nodiscard]] bool replaces(const NameEntry& a, const NameEntry& b);

[[nodiscard]] Status validate(const NodeEntry& entry);
[[nodiscard]] Status validate(const NameEntry& entry);

// Roughly what the entry takes in a message.
[[nodiscard]] std::size_t encoded_size_bytes(const NodeEntry& entry) noexcept;
[[nodiscard]] std::size_t encoded_size_bytes(const NameEntry& entry) noexcept;

}  // namespace godwit::fleet
