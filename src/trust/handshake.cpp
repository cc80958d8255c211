#include "trust/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "trust/handshake_frames.hpp"

namespace godwit::trust {
namespace {

constexpr std::string_view kClientProof = "godwit link 1: client proof";
constexpr std::string_view kServerProof = "godwit link 1: server proof";
constexpr std::string_view kLinkToken = "godwit link 1: link token";

Nonce fresh_nonce() {
  Nonce nonce{};
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

// What the server's proof covers of its last frame: everything but the proof.
std::string answer_content(const ProofFrame& frame) {
  ProofFrame content = frame;
  content.proof = Tag{};
  return encode_answer(content);
}

}  // namespace

Handshake::Handshake(Options options, bool is_client)
    : options_(std::move(options)), open_fleet_(FleetKey::open_fleet()), is_client_(is_client) {}

Handshake Handshake::as_client(Options options, std::string hello) {
  Handshake handshake(std::move(options), true);
  handshake.hello_ = std::move(hello);
  return handshake;
}

Handshake Handshake::as_server(Options options) {
  return {std::move(options), false};
}

const FleetKey& Handshake::key() const {
  return options_.key != nullptr ? *options_.key : open_fleet_;
}

std::string Handshake::offer() {
  offer_ = encode(OfferFrame{options_.oldest_version, options_.newest_version,
                             options_.key != nullptr, fresh_nonce(), options_.features});
  state_ = State::offered;
  return offer_;
}

Result<Handshake::Step> Handshake::receive(Bytes frame) {
  Result<Step> step = fail(ErrorCode::handshake_failed, "the handshake is over; no frame expected");
  if (is_client_ && state_ == State::offered)
    step = take_challenge(frame);
  else if (is_client_ && state_ == State::challenged)
    step = take_answer(frame);
  else if (!is_client_ && state_ == State::start)
    step = take_offer(frame);
  else if (!is_client_ && state_ == State::challenged)
    step = take_proof(frame);
  if (!step) state_ = State::failed;
  return step;
}

Result<Handshake::Step> Handshake::take_offer(Bytes bytes) {
  GODWIT_TRY(const OfferFrame frame, decode_offer(bytes));
  if (frame.oldest_version > options_.newest_version ||
      frame.newest_version < options_.oldest_version)
    return fail(ErrorCode::version_mismatch,
                "the client speaks link protocol {} to {}, this node {} to {}; upgrade the older",
                frame.oldest_version, frame.newest_version, options_.oldest_version,
                options_.newest_version);
  if (options_.key != nullptr && !frame.keyed)
    return fail(ErrorCode::unauthorised,
                "this fleet has a key and the client gave none; configure the fleet key");
  if (options_.key == nullptr && frame.keyed)
    return fail(ErrorCode::unauthorised,
                "the client has a fleet key and this node has none; give both the same key");
  offer_ = text_of(bytes);
  keep_common(frame.features);
  version_ = std::min(frame.newest_version, options_.newest_version);
  challenge_ = encode(ChallengeFrame{version_, fresh_nonce()});
  state_ = State::challenged;
  return Step{Next::send, challenge_};
}

Result<Handshake::Step> Handshake::take_challenge(Bytes bytes) {
  GODWIT_TRY(const ChallengeFrame frame, decode_challenge(bytes));
  if (frame.version < options_.oldest_version || frame.version > options_.newest_version)
    return fail(ErrorCode::version_mismatch,
                "the server chose link protocol {}, this client speaks {} to {}", frame.version,
                options_.oldest_version, options_.newest_version);
  if (hello_.size() > kMaxHelloSize)
    return fail(ErrorCode::too_large, "a hello of {} bytes exceeds the limit of {}", hello_.size(),
                kMaxHelloSize);
  version_ = frame.version;
  challenge_ = text_of(bytes);
  const Tag proof =
      key().tag(kClientProof, {bytes_of(offer_), bytes_of(challenge_), bytes_of(hello_)});
  proof_ = encode_proof({proof, {}, hello_});
  state_ = State::challenged;
  return Step{Next::send, proof_};
}

Result<Handshake::Step> Handshake::take_proof(Bytes bytes) {
  GODWIT_TRY(const ProofFrame frame, decode_proof(bytes));
  const Tag expected =
      key().tag(kClientProof, {bytes_of(offer_), bytes_of(challenge_), bytes_of(frame.hello)});
  if (!equal_in_constant_time(expected, frame.proof))
    return fail(ErrorCode::unauthorised,
                "the client does not hold this fleet's key; give both the same key");
  proof_ = text_of(bytes);
  peer_hello_ = frame.hello;
  state_ = State::proved;
  return Step{Next::answer, {}};
}

Result<std::string> Handshake::answer(std::string_view hello) {
  if (is_client_ || state_ != State::proved)
    return fail(ErrorCode::handshake_failed, "an answer is due only once the client is proved");
  if (hello.size() > kMaxHelloSize)
    return fail(ErrorCode::too_large, "a hello of {} bytes exceeds the limit of {}", hello.size(),
                kMaxHelloSize);
  ProofFrame frame{{}, options_.features, hello};
  frame.proof = key().tag(kServerProof, {bytes_of(offer_), bytes_of(challenge_), bytes_of(proof_),
                                         bytes_of(answer_content(frame))});
  state_ = State::done;
  return encode_answer(frame);
}

Result<Handshake::Step> Handshake::take_answer(Bytes bytes) {
  GODWIT_TRY(const ProofFrame frame, decode_answer(bytes));
  const Tag expected = key().tag(kServerProof, {bytes_of(offer_), bytes_of(challenge_),
                                                bytes_of(proof_), bytes_of(answer_content(frame))});
  if (!equal_in_constant_time(expected, frame.proof))
    return fail(ErrorCode::unauthorised,
                "the server does not hold this fleet's key; check the address and the key");
  peer_hello_ = frame.hello;
  keep_common(frame.features);
  state_ = State::done;
  return Step{Next::complete, {}};
}

std::string Handshake::error_frame(const Error& error) {
  return encode_error(error);
}

std::uint64_t Handshake::link_token() const {
  const Tag tag = key().tag(kLinkToken, {bytes_of(offer_), bytes_of(challenge_), bytes_of(proof_)});
  std::uint64_t token = 0;
  std::memcpy(&token, tag.data(), sizeof token);
  return token != 0 ? token : 1;
}

void Handshake::keep_common(const std::vector<std::string>& theirs) {
  common_features_.clear();
  for (const std::string& mine : options_.features)
    if (std::find(theirs.begin(), theirs.end(), mine) != theirs.end())
      common_features_.push_back(mine);
}

}  // namespace godwit::trust
