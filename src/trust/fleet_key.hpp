// The secret that makes processes one fleet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "godwit/error.hpp"

namespace godwit::trust {

// A keyed BLAKE2b-256 tag.
using Tag = std::array<std::byte, 32>;

// Wiped when it dies. Thread-safe to use, as any constant.
class FleetKey {
 public:
  static constexpr std::size_t kSize = 32;

  [[nodiscard]] static FleetKey generate();
  // 64 hexadecimal digits. Errors: bad_format.
  [[nodiscard]] static Result<FleetKey> from_hex(std::string_view digits);
  // A file of 64 hexadecimal digits that nobody but its owner may read or write.
  // Errors: not_found, permission, bad_format, io.
  [[nodiscard]] static Result<FleetKey> load(const std::filesystem::path& file);
  // Creates such a file; never overwrites one (already_exists).
  [[nodiscard]] Status save(const std::filesystem::path& file) const;

  FleetKey(const FleetKey& other) = default;
  FleetKey& operator=(const FleetKey& other) = default;
  ~FleetKey();

  [[nodiscard]] std::string hex() const;
  // The tag of the parts under this key. `purpose` keeps tags for different uses apart; part
  // lengths are hashed too, so that bytes cannot move from one part to the next.
  [[nodiscard]] Tag tag(std::string_view purpose, std::initializer_list<Bytes> parts) const;
  // Another key, made from this one for the purpose; it tells nothing about this one.
  [[nodiscard]] FleetKey derive(std::string_view purpose) const;
  // What a fleet without a key uses in its place: a public constant that proves nothing.
  [[nodiscard]] static FleetKey open_fleet();

 private:
  FleetKey() = default;
  std::array<unsigned char, kSize> bytes_{};
};

// What a fleet's members show to a relay, and all that the relay holds.
[[nodiscard]] FleetKey relay_key_of(const FleetKey& fleet);

// Takes the same time wherever the tags differ.
[[nodiscard]] bool equal_in_constant_time(Bytes a, Bytes b) noexcept;

}  // namespace godwit::trust
