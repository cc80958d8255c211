#include "trust/handshake_frames.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/fail.hpp"
#include "trust/handshake.hpp"

namespace godwit::trust {
namespace {

constexpr std::string_view kMagic = "GDWLINK";
constexpr std::size_t kMaxErrorText = 400;

enum class Type : std::uint8_t { offer = 1, challenge = 2, proof = 3, answer = 4, error = 255 };

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string begin(Type type) {
  std::string out(kMagic);
  put(out, type);
  return out;
}

void put_bytes(std::string& out, Bytes bytes) {
  out.append(text_of(bytes));
}

void put_features(std::string& out, const std::vector<std::string>& features) {
  const std::size_t count = std::min(features.size(), kMaxFeatures);
  put(out, static_cast<std::uint8_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = std::string_view(features[i]).substr(0, kMaxFeatureSize);
    put(out, static_cast<std::uint8_t>(name.size()));
    out.append(name);
  }
}

// Reads forward; after the first read past the end, ok() is false and every value is zero.
class Reader {
 public:
  explicit Reader(Bytes bytes) : left_(bytes) {}

  template <class T>
  T take() {
    T value{};
    const Bytes bytes = take_bytes(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  Bytes take_bytes(std::size_t size) {
    if (size > left_.size()) {
      ok_ = false;
      return {};
    }
    const Bytes bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }
  std::vector<std::string> take_features() {
    std::vector<std::string> features;
    const auto count = take<std::uint8_t>();
    ok_ = ok_ && count <= kMaxFeatures;
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const auto size = take<std::uint8_t>();
      ok_ = ok_ && size <= kMaxFeatureSize;
      features.emplace_back(text_of(take_bytes(ok_ ? size : 0)));
    }
    return features;
  }
  Bytes rest() { return take_bytes(left_.size()); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && left_.empty(); }

 private:
  Bytes left_;
  bool ok_ = true;
};

// The peer is not proved yet: its words are shortened and made printable before a person sees them.
Error peer_error(Reader& reader) {
  const auto number = reader.take<std::uint16_t>();
  std::string text(text_of(reader.rest()).substr(0, kMaxErrorText));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  auto code = static_cast<ErrorCode>(number);
  if (damage(code) != Damage::link || to_string(code) == "unknown")
    code = ErrorCode::handshake_failed;
  return Error{code, fmt::format("the peer refused the link: {}", text)};
}

Result<Reader> open(Bytes bytes, Type expected, std::string_view name) {
  Reader reader(bytes);
  if (text_of(reader.take_bytes(kMagic.size())) != kMagic)
    return fail(ErrorCode::handshake_failed,
                "the peer does not speak the Godwit link protocol; check the address");
  const auto type = reader.take<Type>();
  if (type == Type::error) return tl::unexpected(peer_error(reader));
  if (type != expected)
    return fail(ErrorCode::handshake_failed, "expected the handshake's {} frame, got type {}", name,
                static_cast<unsigned>(type));
  return reader;
}

Status malformed(std::string_view name) {
  return fail(ErrorCode::handshake_failed, "the handshake's {} frame is malformed", name);
}

}  // namespace

std::string encode(const OfferFrame& frame) {
  std::string out = begin(Type::offer);
  put(out, frame.oldest_version);
  put(out, frame.newest_version);
  put(out, static_cast<std::uint8_t>(frame.keyed ? 1 : 0));
  put_bytes(out, frame.nonce);
  put_features(out, frame.features);
  return out;
}

std::string encode(const ChallengeFrame& frame) {
  std::string out = begin(Type::challenge);
  put(out, frame.version);
  put_bytes(out, frame.nonce);
  return out;
}

std::string encode_proof(const ProofFrame& frame) {
  std::string out = begin(Type::proof);
  put_bytes(out, frame.proof);
  out.append(frame.hello);
  return out;
}

std::string encode_answer(const ProofFrame& frame) {
  std::string out = begin(Type::answer);
  put_bytes(out, frame.proof);
  put_features(out, frame.features);
  out.append(frame.hello);
  return out;
}

std::string encode_error(const Error& error) {
  std::string out = begin(Type::error);
  put(out, error.code);
  out.append(std::string_view(error.message).substr(0, kMaxErrorText));
  return out;
}

Result<OfferFrame> decode_offer(Bytes bytes) {
  GODWIT_TRY(Reader reader, open(bytes, Type::offer, "offer"));
  OfferFrame frame;
  frame.oldest_version = reader.take<std::uint16_t>();
  frame.newest_version = reader.take<std::uint16_t>();
  const auto keyed = reader.take<std::uint8_t>();
  frame.keyed = keyed == 1;
  frame.nonce = reader.take<Nonce>();
  frame.features = reader.take_features();
  // Bytes that follow belong to later versions; the proofs cover them all the same.
  if (!reader.ok() || keyed > 1 || frame.oldest_version > frame.newest_version)
    return tl::unexpected(malformed("offer").error());
  return frame;
}

Result<ChallengeFrame> decode_challenge(Bytes bytes) {
  GODWIT_TRY(Reader reader, open(bytes, Type::challenge, "challenge"));
  ChallengeFrame frame;
  frame.version = reader.take<std::uint16_t>();
  frame.nonce = reader.take<Nonce>();
  if (!reader.at_end()) return tl::unexpected(malformed("challenge").error());
  return frame;
}

Result<ProofFrame> decode_proof(Bytes bytes) {
  GODWIT_TRY(Reader reader, open(bytes, Type::proof, "proof"));
  ProofFrame frame;
  frame.proof = reader.take<Tag>();
  if (!reader.ok()) return tl::unexpected(malformed("proof").error());
  frame.hello = text_of(reader.rest());
  return frame;
}

Result<ProofFrame> decode_answer(Bytes bytes) {
  GODWIT_TRY(Reader reader, open(bytes, Type::answer, "answer"));
  ProofFrame frame;
  frame.proof = reader.take<Tag>();
  frame.features = reader.take_features();
  if (!reader.ok()) return tl::unexpected(malformed("answer").error());
  frame.hello = text_of(reader.rest());
  return frame;
}

}  // namespace godwit::trust
