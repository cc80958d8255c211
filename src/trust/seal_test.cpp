#include "trust/seal.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace godwit::trust {
namespace {

struct Ends {
  Seal sender;
  Seal receiver;
};

Ends ends_of(Cipher cipher) {
  SealKey key;
  key.bytes.fill(7);
  return {Seal::create(cipher, key).value(), Seal::create(cipher, key).value()};
}

std::string sealed(Seal& seal, std::string_view open_text, std::vector<std::string_view> texts) {
  std::vector<Bytes> parts;
  std::size_t size = 0;
  for (const std::string_view text : texts) {
    parts.push_back(bytes_of(text));
    size += text.size();
  }
  std::string record(size + Seal::kTagSize, '\0');
  const MutableBytes room = std::as_writable_bytes(std::span(record));
  EXPECT_TRUE(seal.seal(bytes_of(open_text), parts, room));
  return record;
}

Result<std::string> opened(Seal& seal, std::string_view open_text, std::string_view record) {
  std::string text(record.size() - Seal::kTagSize, '\0');
  const Status status =
      seal.open(bytes_of(open_text), bytes_of(record), std::as_writable_bytes(std::span(text)));
  if (!status) return tl::unexpected(status.error());
  return text;
}

class SealTest : public testing::TestWithParam<Cipher> {};

TEST_P(SealTest, WhatIsSealedInPartsOpensAsAWhole) {
  Ends ends = ends_of(GetParam());
  const std::string long_part(100'000, 'x');
  for (int i = 0; i < 3; ++i) {
    const std::string record = sealed(ends.sender, "head", {"one ", "", "two ", long_part});
    EXPECT_EQ(record.find("one"), std::string::npos);
    EXPECT_EQ(opened(ends.receiver, "head", record).value(), "one two " + long_part);
  }
  EXPECT_EQ(opened(ends.receiver, "beat", sealed(ends.sender, "beat", {})).value(), "");
}

TEST_P(SealTest, EqualRecordsLookDifferent) {
  Ends ends = ends_of(GetParam());
  EXPECT_NE(sealed(ends.sender, "", {"again"}), sealed(ends.sender, "", {"again"}));
}

TEST_P(SealTest, ARecordThatWasTouchedAnywhereDoesNotOpen) {
  const std::string record = [] {
    Ends ends = ends_of(GetParam());
    return sealed(ends.sender, "head", {"text"});
  }();
  for (std::size_t i = 0; i < record.size(); ++i) {
    Ends ends = ends_of(GetParam());
    std::string altered = record;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_FALSE(opened(ends.receiver, "head", altered)) << "byte " << i;
  }
  Ends ends = ends_of(GetParam());
  EXPECT_FALSE(opened(ends.receiver, "Head", record));
}

TEST_P(SealTest, ARecordThatIsRepeatedLeftOutOrShortenedDoesNotOpen) {
  const auto records = [](Ends& ends) {
    return std::vector{sealed(ends.sender, "", {"first"}), sealed(ends.sender, "", {"second"})};
  };
  Ends repeated = ends_of(GetParam());
  const auto some = records(repeated);
  EXPECT_TRUE(opened(repeated.receiver, "", some[0]));
  EXPECT_FALSE(opened(repeated.receiver, "", some[0]));
  EXPECT_FALSE(opened(repeated.receiver, "", some[1])) << "after a failure nothing opens";
  Ends skipped = ends_of(GetParam());
  EXPECT_FALSE(opened(skipped.receiver, "", records(skipped)[1]));
  Ends shortened = ends_of(GetParam());
  const std::string first = records(shortened)[0];
  EXPECT_FALSE(opened(shortened.receiver, "", first.substr(0, first.size() - 1)));
}

TEST_P(SealTest, RoomOfAnotherSizeIsRefused) {
  Ends ends = ends_of(GetParam());
  std::string room(10, '\0');
  const Bytes part = bytes_of("text");
  EXPECT_FALSE(ends.sender.seal({}, {&part, 1}, std::as_writable_bytes(std::span(room))));
}

INSTANTIATE_TEST_SUITE_P(Both, SealTest,
                         testing::Values(Cipher::aes256_gcm, Cipher::chacha20_poly1305));

TEST(KeyExchange, BothSidesAndNobodyElseGetTheSameKeys) {
  const FleetKey key = FleetKey::generate();
  const FleetKey other = FleetKey::generate();
  const KeyExchange a;
  const KeyExchange b;
  const auto at_a = a.derive(key, b.mine(), bytes_of("link")).value();
  const auto at_b = b.derive(key, a.mine(), bytes_of("link")).value();
  EXPECT_EQ(at_a.client_to_server.bytes, at_b.client_to_server.bytes);
  EXPECT_EQ(at_a.server_to_client.bytes, at_b.server_to_client.bytes);
  EXPECT_NE(at_a.client_to_server.bytes, at_a.server_to_client.bytes);
  EXPECT_NE(a.derive(other, b.mine(), bytes_of("link")).value().client_to_server.bytes,
            at_b.client_to_server.bytes);
  EXPECT_NE(a.derive(key, b.mine(), bytes_of("another link")).value().client_to_server.bytes,
            at_b.client_to_server.bytes);
}

TEST(KeyExchange, AHalfThatFixesTheSecretIsRefused) {
  const KeyExchange mine;
  EXPECT_EQ(mine.derive(FleetKey::generate(), {}, {}).error().code, ErrorCode::handshake_failed);
}

}  // namespace
}  // namespace godwit::trust
