// How two processes prove to each other that they are of one fleet, as a state machine over frames:
// no I/O, no clock. docs/protocol.md has the bytes.
//
//   client -> server   offer: versions, keyed or not, client's nonce, features
//   server -> client   challenge: version, server's nonce
//   client -> server   client's proof and hello
//   server -> client   server's proof, features and hello
//
// Proofs cover every byte that went before, so nothing said in the clear can be altered, and old
// frames are worth nothing. Until the client has proved itself it learns nothing but the version,
// or an error frame that says why it was refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::trust {

inline constexpr std::uint16_t kOldestVersion = 1;
inline constexpr std::uint16_t kNewestVersion = 1;

inline constexpr std::size_t kMaxFeatures = 32;
inline constexpr std::size_t kMaxFeatureSize = 32;
// With room for proof and features a frame stays under 64 KiB.
inline constexpr std::size_t kMaxHelloSize = 60 * 1024;

// Not thread-safe; used once.
class Handshake {
 public:
  struct Options {
    // Outlives the handshake. null: an open fleet; both sides must agree on having one or not.
    const FleetKey* key = nullptr;
    // What this side can do; the peer ignores what it does not know.
    std::vector<std::string> features{};
    std::uint16_t oldest_version = kOldestVersion;
    std::uint16_t newest_version = kNewestVersion;
  };

  [[nodiscard]] static Handshake as_client(Options options, std::string hello);
  [[nodiscard]] static Handshake as_server(Options options);

  // Client: the first frame.
  [[nodiscard]] std::string offer();

  enum class Next : std::uint8_t {
    send,      // send `frame`, then wait for the peer's
    answer,    // server: the client is proved, peer_hello() is there; call answer() and send that
    complete,  // client: done
  };
  struct Step {
    Next next = Next::send;
    std::string frame;
  };
  // Takes the peer's next frame. After an error the handshake is over; a server sends
  // error_frame(error) to its client first. Errors: unauthorised, version_mismatch,
  // handshake_failed, or what the peer's error frame says.
  [[nodiscard]] Result<Step> receive(Bytes frame);
  // Server, after Next::answer: the last frame; this side is done with it. too_large if the hello
  // is longer than kMaxHelloSize.
  [[nodiscard]] Result<std::string> answer(std::string_view hello);
  // What a server tells a client it turns away. Texts are cut at a few hundred bytes.
  [[nodiscard]] static std::string error_frame(const Error& error);

  [[nodiscard]] const std::string& peer_hello() const { return peer_hello_; }
  [[nodiscard]] std::uint16_t version() const { return version_; }
  // Features of both sides; server: from Next::answer on, client: once complete.
  [[nodiscard]] const std::vector<std::string>& features() const { return common_features_; }
  // Once complete (server: after Next::answer). The same at both ends; not zero.
  [[nodiscard]] std::uint64_t link_token() const;

 private:
  enum class State : std::uint8_t { start, offered, challenged, proved, done, failed };

  Handshake(Options options, bool is_client);
  [[nodiscard]] const FleetKey& key() const;
  [[nodiscard]] Result<Step> take_offer(Bytes frame);
  [[nodiscard]] Result<Step> take_challenge(Bytes frame);
  [[nodiscard]] Result<Step> take_proof(Bytes frame);
  [[nodiscard]] Result<Step> take_answer(Bytes frame);
  void keep_common(const std::vector<std::string>& theirs);

  Options options_;
  FleetKey open_fleet_;
  State state_ = State::start;
  bool is_client_;
  std::uint16_t version_ = 0;
  std::string hello_;  // client only
  std::string peer_hello_;
  std::vector<std::string> common_features_;
  // The frames as they travelled, which the proofs cover.
  std::string offer_;
  std::string challenge_;
  std::string proof_;
};

}  // namespace godwit::trust
