// A handle on an object of the fleet: 64 bytes that mean the same everywhere, for as long as the
// object lives. It can be passed in calls, kept in files and sent by mail.
//
//   std::string text = ref.handle().to_text();          // gdw://AQAP...
//   auto handle = godwit::Handle::parse(text).value();
//
// Whoever has it can use it, as far as its rights go and the fleet lets them in: the home made it
// with a key of its own (`mac`), and checks that before anything else. Nothing here is secret.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "godwit/error.hpp"
#include "godwit/export.hpp"

namespace godwit {

// What a handle allows; checked at the object's home.
enum class Rights : std::uint16_t {
  none = 0,
  read = 1,
  write = 2,     // publish new versions, fulfil a promise
  evict = 4,     // end the object, change how long it lives, own it
  delegate = 8,  // have handles made with fewer rights
  all = 15,
};
[[nodiscard]] constexpr Rights operator|(Rights a, Rights b) noexcept {
  return static_cast<Rights>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr Rights operator&(Rights a, Rights b) noexcept {
  return static_cast<Rights>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool includes(Rights all, Rights some) noexcept {
  return (all & some) == some;
}
// "read+evict"; "none".
[[nodiscard]] GODWIT_API std::string to_string(Rights rights);

// Names an object in all its versions; random.
struct ObjectId {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
  // 32 hexadecimal digits; the first 12 are enough for people.
  [[nodiscard]] GODWIT_API std::string hex() const;
  [[nodiscard]] GODWIT_API std::string short_hex() const;
};

// All integers are little-endian, as they are in memory and on the wire.
struct Handle {
  static constexpr std::uint16_t kFormat = 1;
  // The size of an object that does not exist yet.
  static constexpr std::uint64_t kSizeUnknown = UINT64_MAX;

  std::uint16_t format = kFormat;
  Rights rights = Rights::none;
  std::uint32_t key_id = 0;  // which of the home's keys made the mac
  ObjectId object;
  std::uint64_t version = 0;  // of the object, from 1 on
  std::uint64_t size = 0;     // of that version, in bytes
  std::uint64_t type = 0;     // the hash of its type's string (docs/types.md); 0: plain bytes
  std::uint64_t home = 0;     // a node's id
  std::uint64_t mac = 0;      // over all of the above

  // "gdw://" and 86 characters that survive mail and file names.
  [[nodiscard]] GODWIT_API std::string to_text() const;
  // Errors: bad_format, saying what is wrong (cut short, other characters, an unknown format).
  [[nodiscard]] GODWIT_API static Result<Handle> parse(std::string_view text);
  friend bool operator==(const Handle&, const Handle&) = default;
};
static_assert(sizeof(Handle) == 64 && std::is_trivially_copyable_v<Handle>);
static_assert(offsetof(Handle, object) == 8 && offsetof(Handle, version) == 24 &&
              offsetof(Handle, mac) == 56);

}  // namespace godwit

template <>
struct std::hash<godwit::ObjectId> {
  std::size_t operator()(const godwit::ObjectId& id) const noexcept {
    std::uint64_t prefix = 0;  // as good as any other part: the id is random
    for (std::size_t i = 0; i < sizeof prefix; ++i) {
      prefix |= static_cast<std::uint64_t>(id.bytes[i]) << (8 * i);
    }
    return static_cast<std::size_t>(prefix);
  }
};
