// The key a home makes and checks its handles with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "godwit/error.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// A value. A home makes one at each start, or keeps it where its objects outlive it.
class HandleKey {
 public:
  static constexpr std::size_t kBytes = 16;

  [[nodiscard]] static HandleKey random();
  explicit HandleKey(const std::array<std::uint8_t, kBytes>& secret) noexcept;

  // Sets key_id and mac; everything else is what it vouches for.
  void sign(Handle& handle) const noexcept;
  // Errors: bad_format (another format), permission (not made with this key: forged, or of an
  // earlier start of the home).
  [[nodiscard]] Status verify(const Handle& handle) const;
  [[nodiscard]] const std::array<std::uint8_t, kBytes>& secret() const noexcept { return secret_; }

 private:
  std::array<std::uint8_t, kBytes> secret_;
  std::uint32_t id_;
};

// Tells a handle from all others. Who knows the proof does not know the handle's mac: SipHash-2-4
// of the rest of it, under the mac.
[[nodiscard]] std::uint64_t proof_of(const Handle& handle) noexcept;

}  // namespace godwit::ref
