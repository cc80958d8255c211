// Sealing: what two processes of a fleet say through a third that must not understand it.
//
// Each side makes a KeyExchange for the link and sends its public half inside the handshake, whose
// proofs cover it. The keys of the link's two directions come from the shared secret and the fleet
// key together: neither a stolen fleet key alone opens what was recorded earlier, nor does a
// process between the two that lacks it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::trust {

// Numbers travel in the handshake.
enum class Cipher : std::uint8_t {
  aes256_gcm = 1,         // where the processor has instructions for it
  chacha20_poly1305 = 2,  // everywhere
};

// The key of one direction of one link. Wiped when it dies.
struct SealKey {
  std::array<unsigned char, 32> bytes{};
  SealKey() = default;
  SealKey(const SealKey&) = default;
  SealKey& operator=(const SealKey&) = default;
  ~SealKey();
};

struct LinkKeys {
  SealKey client_to_server;
  SealKey server_to_client;
};

// X25519, for one link. Not thread-safe.
class KeyExchange {
 public:
  using Public = std::array<std::byte, 32>;

  KeyExchange();
  KeyExchange(const KeyExchange&) = delete;
  KeyExchange& operator=(const KeyExchange&) = delete;
  ~KeyExchange();

  [[nodiscard]] const Public& mine() const noexcept { return mine_; }
  // `transcript` is what both sides agree on and no other link has. Errors: handshake_failed (the
  // peer's half is one that makes the secret a constant).
  [[nodiscard]] Result<LinkKeys> derive(const FleetKey& key, const Public& theirs,
                                        Bytes transcript) const;

 private:
  std::array<unsigned char, 32> secret_{};
  Public mine_{};
};

// One direction of a link, seen from one end. Records are numbered, and the number is part of what
// is authenticated: one that is left out, repeated or moved does not open. Not thread-safe.
class Seal {
 public:
  static constexpr std::size_t kTagSize = 16;

  // Errors: unsupported (this build of the library lacks the cipher).
  [[nodiscard]] static Result<Seal> create(Cipher cipher, const SealKey& key);
  // Whether AES is the quicker choice on this machine.
  [[nodiscard]] static bool has_quick_aes() noexcept;

  Seal(Seal&&) noexcept;
  Seal& operator=(Seal&&) noexcept;
  ~Seal();

  // Writes the parts, sealed as one record, and a tag behind them: `room` is of their size and
  // kTagSize. `open_text` is authenticated and not hidden. A failure is the library's, and final.
  [[nodiscard]] Status seal(Bytes open_text, std::span<const Bytes> parts, MutableBytes room);
  // The reverse, into `room`, which is kTagSize shorter than the record. After an error (it was
  // tampered with) `room` holds nothing of use, and no later record opens either.
  [[nodiscard]] Status open(Bytes open_text, Bytes record, MutableBytes room);

 private:
  struct State;
  explicit Seal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace godwit::trust
