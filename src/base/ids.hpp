// Identities. Each is its own type, so that a link cannot be passed where a node is meant.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace godwit {

// A 64-bit identity of one kind; zero means "none".
template <class Tag>
struct Id {
  std::uint64_t value = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return value != 0; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

// A node, for as long as its identity lives (it survives restarts); random, never zero.
using NodeId = Id<struct NodeTag>;
// One start of a node's process; later starts of the same node compare greater.
using Epoch = Id<struct EpochTag>;
// A live link within this process. Never reused while the process lives.
using LinkId = Id<struct LinkTag>;

// 16 lower-case hexadecimal digits.
[[nodiscard]] std::string to_hex(std::uint64_t value);
[[nodiscard]] std::optional<std::uint64_t> from_hex(std::string_view digits);

[[nodiscard]] NodeId random_node_id();

// BLAKE2b-256 of some bytes: the identity of slices and bundles.
struct ContentId {
  static constexpr std::size_t kSize = 32;
  std::array<std::byte, kSize> digest{};

  [[nodiscard]] static ContentId of(Bytes content);
  // All zero: no content.
  [[nodiscard]] explicit operator bool() const noexcept { return *this != ContentId{}; }
  // 64 hexadecimal digits; short() gives the first 12, for people.
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] std::string short_hex() const;
  [[nodiscard]] static std::optional<ContentId> parse(std::string_view hex);
  friend auto operator<=>(const ContentId&, const ContentId&) = default;
};

}  // namespace godwit

template <class Tag>
struct std::hash<godwit::Id<Tag>> {
  std::size_t operator()(const godwit::Id<Tag>& id) const noexcept {
    return static_cast<std::size_t>(id.value * 0x9E3779B97F4A7C15U);
  }
};
template <>
struct std::hash<godwit::ContentId> {
  std::size_t operator()(const godwit::ContentId& id) const noexcept {
    std::size_t prefix = 0;
    std::memcpy(&prefix, id.digest.data(), sizeof prefix);  // already uniform
    return prefix;
  }
};
