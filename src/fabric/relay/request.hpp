// What a process says to a relay, in the payload of the handshake with it, and what the relay says
// to the nodes that are enrolled. Pure functions; docs/protocol.md has the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric::relay {

// Names a meeting of two connections at a relay. Random: whoever knows it was told.
using Token = std::array<std::byte, 16>;

struct Request {
  enum class What : std::uint8_t {
    enrol = 1,   // tell me, on this connection, when somebody wants to talk to me
    dial = 2,    // connect me with `node`; any but myself if that is 0
    answer = 3,  // I am whom the meeting `token` waits for
    status = 4,  // how are you? The answer's payload is JSON
  };
  What what = What::enrol;
  NodeId node{};
  Token token{};
};
inline constexpr std::size_t kRequestSize = 32;

[[nodiscard]] std::string encode(const Request& request);
// Errors: bad_format.
[[nodiscard]] Result<Request> parse_request(std::string_view bytes);

// The one frame a relay sends to an enrolled node: somebody is waiting, answer with this token.
[[nodiscard]] std::string encode_summons(const Token& token);
[[nodiscard]] Result<Token> parse_summons(Bytes frame);

}  // namespace godwit::fabric::relay
