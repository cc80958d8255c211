#include "ref/disk/object_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "ref/disk/checksum.hpp"

namespace godwit::ref {
namespace {

ObjectHead sample_head() {
  ObjectHead head;
  Handle& handle = head.record.handle;
  handle.rights = Rights::all;
  handle.key_id = 7;
  for (std::size_t i = 0; i < handle.object.bytes.size(); ++i) {
    handle.object.bytes[i] = static_cast<std::uint8_t>(0xA0 + i);
  }
  handle.version = 12;
  handle.size = 1'000;
  handle.type = 5;
  handle.home = 6;
  handle.mac = 8;
  head.record.lifetime = {LifetimeKind::lease, 3, std::chrono::seconds(9)};
  head.record.persistent = true;
  head.record.written_ns = 1'700'000'000'000'000'000;
  head.data_checksum = 0x0102'0304'0506'0708;
  return head;
}

// As somebody would who damages a file on purpose.
std::array<std::byte, ObjectHead::kSize> with_good_checksum(
    std::array<std::byte, ObjectHead::kSize> bytes) {
  const std::uint64_t checksum = Checksum::of(Bytes(bytes).first(120));
  std::memcpy(bytes.data() + 120, &checksum, sizeof checksum);
  return bytes;
}

void expect_refused(Bytes bytes, std::string_view why) {
  const auto head = ObjectHead::parse(bytes);
  ASSERT_FALSE(head) << why;
  EXPECT_EQ(head.error().code, ErrorCode::bad_format);
  EXPECT_NE(head.error().message.find(why), std::string::npos) << head.error().message;
}

TEST(ObjectHead, ComesBackAsItWas) {
  const ObjectHead head = sample_head();
  const auto bytes = head.encode();
  const auto parsed = ObjectHead::parse(bytes);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->record, head.record);
  EXPECT_EQ(parsed->data_checksum, head.data_checksum);
}

TEST(ObjectHead, LiesInTheFileAsItsHeaderSays) {
  const auto bytes = sample_head().encode();
  const auto at = [&](std::size_t offset) { return std::to_integer<int>(bytes[offset]); };
  EXPECT_EQ(std::memcmp(bytes.data(), "GDWOBJ1", 8), 0);
  EXPECT_EQ(at(8), 2);
  EXPECT_EQ(at(16 + 8), 0xA0);
  EXPECT_EQ(at(16 + 24), 12);
  EXPECT_EQ(at(80), 1);
  EXPECT_EQ(at(81), 1);
  EXPECT_EQ(at(84), 3);
  EXPECT_EQ(at(104), 8);
}

TEST(ObjectHead, AnyBitThatFlipsIsNoticed) {
  auto bytes = sample_head().encode();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto flip = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= flip;
    EXPECT_FALSE(ObjectHead::parse(bytes)) << "bit " << bit;
    bytes[bit / 8] ^= flip;
  }
}

TEST(ObjectHead, WhatItCannotMeanIsRefusedWithTheReason) {
  const auto good = sample_head().encode();
  expect_refused(Bytes(good).first(127), "cut short");
  expect_refused({}, "cut short");
  const auto changed = [&](std::size_t offset, unsigned value) {
    auto bytes = good;
    bytes[offset] = static_cast<std::byte>(value);
    return with_good_checksum(bytes);
  };
  expect_refused(changed(0, 'X'), "does not begin");
  expect_refused(changed(8, 1), "format 1");
  expect_refused(changed(12, 1), "does not know");
  expect_refused(changed(16, 9), "handle is of format");
  expect_refused(changed(16 + 24, 0), "version is 0");
  expect_refused(changed(16 + 39, 0xFF), "beyond the limit");
  expect_refused(changed(80, 4), "kind 4");
  expect_refused(changed(81, 2), "does not know");
  expect_refused(changed(82, 1), "does not know");
  expect_refused(changed(95, 0x80), "negative");
  expect_refused(changed(112, 1), "does not know");
  auto bytes = good;
  bytes[100] ^= std::byte{1};
  expect_refused(bytes, "checksum");
}

TEST(ObjectFileName, OnlyWhatItWritesIsOne) {
  const ObjectFileName name = ObjectFileName::of(sample_head().record.handle);
  const std::string text = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf.12.gdo";
  EXPECT_EQ(name.text(), text);
  ASSERT_TRUE(ObjectFileName::parse(text));
  EXPECT_EQ(*ObjectFileName::parse(text), name);
  const std::string id = text.substr(0, 32);
  for (const std::string& other :
       {std::string(), std::string("handle.key"), id, id + ".gdo", id + "..gdo", id + ".0.gdo",
        id + ".012.gdo", id + ".-1.gdo", id + ".12.gdo.1.tmp", id + ".12.gdo.1.broken",
        id + ".18446744073709551616.gdo", "A" + text.substr(1), "+" + text.substr(1),
        id + "x12.gdo", id + ".12.gdO", text + std::string(1, '\0')}) {
    EXPECT_FALSE(ObjectFileName::parse(other)) << other;
  }
  EXPECT_TRUE(ObjectFileName::parse(id + ".18446744073709551615.gdo"));
}

}  // namespace
}  // namespace godwit::ref
