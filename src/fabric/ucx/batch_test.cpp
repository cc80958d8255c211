#include "fabric/ucx/batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace godwit::fabric::ucx {
namespace {

struct Sample {
  wire::Header header;
  std::string body;
};

std::vector<Sample> random_messages(std::mt19937_64& random) {
  std::vector<Sample> messages(1 + random() % 20);
  for (Sample& message : messages) {
    message.header = {.kind = static_cast<wire::Kind>(random() % 64),
                      .flags = static_cast<std::uint8_t>(random()),
                      .extension_size = static_cast<std::uint16_t>(random() % 4 * 16),
                      .aux = static_cast<std::uint32_t>(random()),
                      .id = random(),
                      .subject = random()};
    message.body.resize(random() % 100);
    for (char& byte : message.body) byte = static_cast<char>(random());
  }
  return messages;
}

// Written over ones, as in a record that was used before.
std::string batch_of(const std::vector<Sample>& messages) {
  std::string batch;
  for (const Sample& message : messages) {
    const std::size_t at = batch.size();
    batch.resize(at + batch_entry_size(message.body.size()), '\xFF');
    const std::size_t half = message.body.size() / 2;
    const std::string_view body = message.body;
    const std::array parts{bytes_of(body.substr(0, half)), Bytes{}, bytes_of(body.substr(half))};
    write_batch_entry(reinterpret_cast<std::byte*>(batch.data()) + at, message.header, parts,
                      body.size());
  }
  return batch;
}

TEST(UcxBatch, WhatWasWrittenIsReadInTheSameOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Sample> messages = random_messages(random);
    const std::string batch = batch_of(messages);
    ASSERT_EQ(count_batch(bytes_of(batch)), messages.size());
    std::size_t offset = 0;
    for (const Sample& message : messages) {
      EXPECT_EQ(offset % 16, 0U);
      const auto read = read_batch_entry(bytes_of(batch), offset);
      ASSERT_TRUE(read);
      EXPECT_EQ(text_of(read->body), message.body);
      EXPECT_EQ(read->header.kind, message.header.kind);
      EXPECT_EQ(read->header.flags, message.header.flags);
      EXPECT_EQ(read->header.extension_size, message.header.extension_size);
      EXPECT_EQ(read->header.aux, message.header.aux);
      EXPECT_EQ(read->header.id, message.header.id);
      EXPECT_EQ(read->header.subject, message.header.subject);
    }
    EXPECT_FALSE(read_batch_entry(bytes_of(batch), offset));
    EXPECT_EQ(offset, batch.size());
  }
}

TEST(UcxBatch, TheBytesAreThoseOfTheProtocol) {
  const std::string batch = batch_of({{{.kind = wire::Kind::reply,
                                        .flags = 4,
                                        .extension_size = 16,
                                        .aux = 0x01020304,
                                        .id = 5,
                                        .subject = 6,
                                        .link_token = 0xFFFF},
                                       "seven b"}});
  const std::string expected(
      "\x02\x04\x10\0\x04\x03\x02\x01\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0"
      "seven b\0\0\0\0\0\0\0\0\0",
      48);
  EXPECT_EQ(batch, expected);
}

TEST(UcxBatch, NoPieceOfABatchIsABatchUnlessItEndsWithAMessage) {
  std::mt19937_64 random(2);
  const std::vector<Sample> messages = random_messages(random);
  const std::string batch = batch_of(messages);
  std::vector<std::size_t> ends;
  for (std::size_t offset = 0; read_batch_entry(bytes_of(batch), offset);) ends.push_back(offset);
  for (std::size_t size = 0; size <= batch.size(); ++size) {
    const auto end = std::find(ends.begin(), ends.end(), size);
    const auto expected =
        end == ends.end() ? 0U : static_cast<std::size_t>(end - ends.begin()) + 1U;
    EXPECT_EQ(count_batch(bytes_of(batch).first(size)), expected) << size;
  }
}

TEST(UcxBatch, SizesThatDoNotFitAreRefused) {
  for (const std::uint64_t size :
       {std::uint64_t{17}, std::uint64_t{4096}, std::uint64_t{UINT32_MAX}, UINT64_MAX - 15,
        UINT64_MAX, std::uint64_t{1} << 63}) {
    std::string batch = batch_of({{{.id = 1}, "whole"}, {{.id = 2}, "sixteen bytes..."}});
    std::memcpy(batch.data() + 48 + offsetof(wire::Header, link_token), &size, sizeof size);
    EXPECT_EQ(count_batch(bytes_of(batch)), 0U) << size;
  }
}

TEST(UcxBatch, AnyBytesAreReadWithinTheirBounds) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string batch = batch_of(random_messages(random));
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      batch[random() % batch.size()] = static_cast<char>(random());
    }
    batch.resize(random() % (batch.size() + 1));
    // In memory of exactly that size, for the sanitizer to see.
    const Buffer exact = Buffer::copy_of(bytes_of(batch));
    std::size_t offset = 0;
    std::size_t sum = 0;
    while (const auto message = read_batch_entry(exact.view(), offset)) {
      for (const std::byte byte : message->body) sum += static_cast<std::size_t>(byte);
    }
    EXPECT_LE(offset, batch.size());
    EXPECT_GE(sum, 0U);
  }
}

}  // namespace
}  // namespace godwit::fabric::ucx
