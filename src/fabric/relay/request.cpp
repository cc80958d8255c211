#include "fabric/relay/request.hpp"

#include <cstring>

#include "base/fail.hpp"

namespace godwit::fabric::relay {
namespace {

constexpr std::string_view kRequestTag = "rly1";
constexpr std::string_view kSummonsTag = "rlys";
constexpr std::size_t kWhatAt = 4;
constexpr std::size_t kNodeAt = 8;
constexpr std::size_t kTokenAt = 16;
static_assert(kTokenAt + sizeof(Token) == kRequestSize);

}  // namespace

std::string encode(const Request& request) {
  std::string bytes(kRequestSize, '\0');
  bytes.replace(0, kRequestTag.size(), kRequestTag);
  bytes[kWhatAt] = static_cast<char>(request.what);
  std::memcpy(bytes.data() + kNodeAt, &request.node.value, sizeof request.node.value);
  std::memcpy(bytes.data() + kTokenAt, request.token.data(), request.token.size());
  return bytes;
}

Result<Request> parse_request(std::string_view bytes) {
  if (bytes.size() != kRequestSize || !bytes.starts_with(kRequestTag)) {
    return fail(ErrorCode::bad_format, "that is no request to a relay");
  }
  Request request;
  request.what = static_cast<Request::What>(bytes[kWhatAt]);
  if (request.what < Request::What::enrol || request.what > Request::What::status) {
    return fail(ErrorCode::bad_format, "the relay does not know the request {}",
                static_cast<int>(request.what));
  }
  std::memcpy(&request.node.value, bytes.data() + kNodeAt, sizeof request.node.value);
  std::memcpy(request.token.data(), bytes.data() + kTokenAt, request.token.size());
  return request;
}

std::string encode_summons(const Token& token) {
  return std::string(kSummonsTag).append(text_of(token));
}

Result<Token> parse_summons(Bytes frame) {
  const std::string_view text = text_of(frame);
  Token token{};
  if (text.size() != kSummonsTag.size() + token.size() || !text.starts_with(kSummonsTag)) {
    return fail(ErrorCode::protocol_violation, "the relay sent something that is no summons");
  }
  std::memcpy(token.data(), frame.data() + kSummonsTag.size(), token.size());
  return token;
}

}  // namespace godwit::fabric::relay
