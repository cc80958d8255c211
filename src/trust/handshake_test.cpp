#include "trust/handshake.hpp"

#include <gtest/gtest.h>

#include <string>

namespace godwit::trust {
namespace {

class HandshakeTest : public ::testing::Test {
 protected:
  Handshake client(const FleetKey* key, std::vector<std::string> features = {}) {
    return Handshake::as_client({.key = key, .features = std::move(features)}, "hello of client");
  }
  Handshake server(const FleetKey* key, std::vector<std::string> features = {}) {
    return Handshake::as_server({.key = key, .features = std::move(features)});
  }
  // Runs the handshake up to the client's proof frame.
  std::string proof_of(Handshake& c, Handshake& s) {
    auto challenge = s.receive(bytes_of(c.offer()));
    auto proof = c.receive(bytes_of(challenge.value().frame));
    return proof.value().frame;
  }

  FleetKey key_ = FleetKey::generate();
  FleetKey other_key_ = FleetKey::generate();
};

TEST_F(HandshakeTest, BothSidesLearnTheOthersHelloAndAgreeOnToken) {
  for (const FleetKey* key :
       {static_cast<const FleetKey*>(&key_), static_cast<const FleetKey*>(nullptr)}) {
    Handshake c = client(key, {"a", "b"});
    Handshake s = server(key, {"b", "c"});
    const auto proved = s.receive(bytes_of(proof_of(c, s)));
    ASSERT_TRUE(proved) << proved.error().message;
    ASSERT_EQ(proved->next, Handshake::Next::answer);
    EXPECT_EQ(s.peer_hello(), "hello of client");
    const auto done = c.receive(bytes_of(s.answer("hello of server").value()));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->next, Handshake::Next::complete);
    EXPECT_EQ(c.peer_hello(), "hello of server");
    EXPECT_EQ(c.link_token(), s.link_token());
    EXPECT_NE(c.link_token(), 0U);
    EXPECT_EQ(c.features(), std::vector<std::string>{"b"});
    EXPECT_EQ(s.features(), std::vector<std::string>{"b"});
    EXPECT_EQ(c.version(), kNewestVersion);
  }
}

TEST_F(HandshakeTest, ClientWithTheWrongKeyIsRefusedAndToldWhy) {
  Handshake c = client(&other_key_);
  Handshake s = server(&key_);
  const auto refused = s.receive(bytes_of(proof_of(c, s)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unauthorised);
  const auto told = c.receive(bytes_of(Handshake::error_frame(refused.error())));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::unauthorised);
  EXPECT_NE(told.error().message.find("does not hold this fleet's key"), std::string::npos);
}

TEST_F(HandshakeTest, ServerSaysNothingOfItselfBeforeTheProof) {
  Handshake s = Handshake::as_server({.key = &key_, .features = {"secret-feature"}});
  Handshake c = client(&key_);
  const auto challenge = s.receive(bytes_of(c.offer()));
  ASSERT_TRUE(challenge);
  EXPECT_EQ(challenge->frame.find("secret-feature"), std::string::npos);
  EXPECT_EQ(challenge->frame.size(), 8 + 2 + 32U);  // type, version, nonce
  EXPECT_FALSE(s.answer("hello of server"));
}

TEST_F(HandshakeTest, AnswersOfAnImpostorAndOfAnEarlierServerAreRefused) {
  for (const FleetKey* key : {&key_, &other_key_}) {
    Handshake earlier_client = client(key);
    Handshake earlier_server = server(key);
    ASSERT_TRUE(earlier_server.receive(bytes_of(proof_of(earlier_client, earlier_server))));
    const std::string answer = earlier_server.answer("hello of server").value();

    Handshake victim = client(&key_);
    Handshake impostor = server(&other_key_);
    ASSERT_FALSE(proof_of(victim, impostor).empty());
    const auto noticed = victim.receive(bytes_of(answer));
    ASSERT_FALSE(noticed);
    EXPECT_EQ(noticed.error().code, ErrorCode::unauthorised);
  }
}

TEST_F(HandshakeTest, ReplayedProofIsWorthNothing) {
  Handshake c = client(&key_);
  Handshake first = server(&key_);
  const std::string offer = c.offer();
  auto challenge = first.receive(bytes_of(offer));
  const std::string proof = c.receive(bytes_of(challenge->frame)).value().frame;
  ASSERT_TRUE(first.receive(bytes_of(proof)));
  Handshake second = server(&key_);
  ASSERT_TRUE(second.receive(bytes_of(offer)));
  const auto replayed = second.receive(bytes_of(proof));
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().code, ErrorCode::unauthorised);
}

TEST_F(HandshakeTest, EveryTamperedByteIsNoticed) {
  Handshake c = client(&key_);
  Handshake s = server(&key_);
  const std::string offer = c.offer();
  const std::string challenge = s.receive(bytes_of(offer)).value().frame;
  const std::string proof = c.receive(bytes_of(challenge)).value().frame;
  for (std::size_t i = 0; i < proof.size(); ++i) {
    std::string tampered = proof;
    tampered[i] = static_cast<char>(tampered[i] ^ 1);
    Handshake copy = s;
    EXPECT_FALSE(copy.receive(bytes_of(tampered))) << "client proof, byte " << i;
  }
  ASSERT_TRUE(s.receive(bytes_of(proof)));
  const std::string answer = s.answer("hello of server").value();
  for (std::size_t i = 0; i < answer.size(); ++i) {
    std::string tampered = answer;
    tampered[i] = static_cast<char>(tampered[i] ^ 1);
    Handshake copy = c;
    EXPECT_FALSE(copy.receive(bytes_of(tampered))) << "server answer, byte " << i;
  }
  for (std::size_t i = 0; i < offer.size(); ++i) {
    std::string tampered = offer;
    tampered[i] = static_cast<char>(tampered[i] ^ 1);
    Handshake fresh = server(&key_);
    const auto step = fresh.receive(bytes_of(tampered));
    if (!step) continue;
    // The client proves what it sent, not what arrived.
    Handshake sender = c;
    EXPECT_FALSE(fresh.receive(bytes_of(proof)) && sender.receive(bytes_of(answer)))
        << "offer, byte " << i;
  }
}

TEST_F(HandshakeTest, TruncatedFramesAreRefusedWithoutReadingPastTheEnd) {
  Handshake c = client(&key_, {"feature"});
  const std::string offer = c.offer();
  for (std::size_t size = 0; size < offer.size(); ++size) {
    Handshake s = server(&key_);
    const auto step = s.receive(bytes_of(std::string_view(offer).substr(0, size)));
    ASSERT_FALSE(step) << size;
    EXPECT_EQ(step.error().code, ErrorCode::handshake_failed);
  }
}

TEST_F(HandshakeTest, VersionsThatDoNotMeetAreRefusedAndBothRangesNamed) {
  Handshake c = Handshake::as_client({.oldest_version = 7, .newest_version = 9}, "");
  Handshake s = server(nullptr);
  const auto refused = s.receive(bytes_of(c.offer()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::version_mismatch);
  EXPECT_NE(refused.error().message.find("7 to 9"), std::string::npos);
}

TEST_F(HandshakeTest, VersionsThatOverlapSettleOnTheNewestOfBoth) {
  Handshake c = Handshake::as_client({.oldest_version = 1, .newest_version = 9}, "");
  Handshake s = Handshake::as_server({.oldest_version = 2, .newest_version = 4});
  ASSERT_TRUE(s.receive(bytes_of(proof_of(c, s))));
  EXPECT_EQ(s.version(), 4);
  EXPECT_EQ(c.version(), 4);
}

TEST_F(HandshakeTest, KeyedAndUnkeyedNeverMix) {
  Handshake unkeyed_client = client(nullptr);
  Handshake keyed_server = server(&key_);
  EXPECT_EQ(keyed_server.receive(bytes_of(unkeyed_client.offer())).error().code,
            ErrorCode::unauthorised);
  Handshake keyed_client = client(&key_);
  Handshake unkeyed_server = server(nullptr);
  EXPECT_EQ(unkeyed_server.receive(bytes_of(keyed_client.offer())).error().code,
            ErrorCode::unauthorised);
}

TEST_F(HandshakeTest, KeyedClientRefusesAServerThatPretendsNotToNeedTheKey) {
  Handshake c = client(&key_);
  Handshake s = server(nullptr);
  // The attacker strips the "keyed" flag from the offer on its way.
  std::string offer = c.offer();
  offer[8 + 4] = 0;
  const auto challenge = s.receive(bytes_of(offer));
  ASSERT_TRUE(challenge);
  const auto proof = c.receive(bytes_of(challenge->frame));
  ASSERT_TRUE(proof);
  EXPECT_FALSE(s.receive(bytes_of(proof->frame)));
}

TEST_F(HandshakeTest, StrangersGetAMessageThatNamesTheProtocol) {
  Handshake s = server(&key_);
  const auto refused = s.receive(bytes_of("GET / HTTP/1.1\r\n\r\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::handshake_failed);
}

TEST_F(HandshakeTest, PeersErrorTextIsMadePrintableAndShort) {
  Handshake c = client(&key_);
  (void)c.offer();
  const std::string text = "\x1b[31m" + std::string(5000, 'x');
  const auto told =
      c.receive(bytes_of(Handshake::error_frame({static_cast<ErrorCode>(9999), text})));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::handshake_failed);
  EXPECT_EQ(told.error().message.find('\x1b'), std::string::npos);
  EXPECT_LT(told.error().message.size(), 500U);
}

}  // namespace
}  // namespace godwit::trust
