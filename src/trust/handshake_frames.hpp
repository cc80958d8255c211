// Bytes of the handshake's frames. Pure functions; everything read is bounds-checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::trust {

using Nonce = std::array<std::byte, 32>;

struct OfferFrame {
  std::uint16_t oldest_version = 0;
  std::uint16_t newest_version = 0;
  bool keyed = false;
  Nonce nonce{};
  std::vector<std::string> features;
};
struct ChallengeFrame {
  std::uint16_t version = 0;
  Nonce nonce{};
};
// Both the client's proof and the server's answer; only the latter has features.
struct ProofFrame {
  Tag proof{};
  std::vector<std::string> features;
  std::string_view hello;  // into the frame
};

[[nodiscard]] std::string encode(const OfferFrame& frame);
[[nodiscard]] std::string encode(const ChallengeFrame& frame);
[[nodiscard]] std::string encode_proof(const ProofFrame& frame);
[[nodiscard]] std::string encode_answer(const ProofFrame& frame);
[[nodiscard]] std::string encode_error(const Error& error);

// Errors: handshake_failed with what is wrong, or, given an error frame, the error it carries.
[[nodiscard]] Result<OfferFrame> decode_offer(Bytes bytes);
[[nodiscard]] Result<ChallengeFrame> decode_challenge(Bytes bytes);
[[nodiscard]] Result<ProofFrame> decode_proof(Bytes bytes);
[[nodiscard]] Result<ProofFrame> decode_answer(Bytes bytes);

}  // namespace godwit::trust
