#include "godwit/msgpack.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace godwit {
namespace {

using Encoded = std::vector<std::byte>;

template <class Write>
Encoded packed(Write write) {
  ByteSink counting(nullptr, 0);
  Packer counter(counting);
  write(counter);
  Encoded bytes(counting.size());
  ByteSink sink(bytes.data(), bytes.size());
  Packer packer(sink);
  write(packer);
  EXPECT_TRUE(sink.fits());
  return bytes;
}

std::string hex(const Encoded& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[static_cast<std::size_t>(byte) >> 4];
    text += kDigits[static_cast<std::size_t>(byte) & 15];
  }
  return text;
}

TEST(Packer, WritesTheShortestFormThatMsgpackHas) {
  EXPECT_EQ(hex(packed([](Packer& p) { p.nil(); })), "c0");
  EXPECT_EQ(hex(packed([](Packer& p) { p.boolean(true); })), "c3");
  EXPECT_EQ(hex(packed([](Packer& p) { p.unsigned_integer(127); })), "7f");
  EXPECT_EQ(hex(packed([](Packer& p) { p.unsigned_integer(128); })), "cc80");
  EXPECT_EQ(hex(packed([](Packer& p) { p.unsigned_integer(65536); })), "ce00010000");
  EXPECT_EQ(hex(packed([](Packer& p) { p.signed_integer(-32); })), "e0");
  EXPECT_EQ(hex(packed([](Packer& p) { p.signed_integer(-33); })), "d0df");
  EXPECT_EQ(hex(packed([](Packer& p) { p.signed_integer(-32769); })), "d2ffff7fff");
  EXPECT_EQ(hex(packed([](Packer& p) { p.f32(1.5F); })), "ca3fc00000");
  EXPECT_EQ(hex(packed([](Packer& p) { p.f64(-2.0); })), "cbc000000000000000");
  EXPECT_EQ(hex(packed([](Packer& p) { p.str("ab"); })), "a26162");
  EXPECT_EQ(hex(packed([](Packer& p) { p.bin({}); })), "c400");
  EXPECT_EQ(hex(packed([](Packer& p) { p.array(15); })), "9f");
  EXPECT_EQ(hex(packed([](Packer& p) { p.map(16); })), "de0010");
  EXPECT_EQ(hex(packed([](Packer& p) { p.array(65536); })), "dd00010000");
}

template <class T>
void expect_integer_round_trip(T value) {
  const Encoded bytes = packed([&](Packer& p) {
    if constexpr (std::is_signed_v<T>) {
      p.signed_integer(value);
    } else {
      p.unsigned_integer(value);
    }
  });
  Unpacker in(bytes);
  T back{};
  EXPECT_TRUE(in.integer(back));
  EXPECT_EQ(back, value);
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(Unpacker, GivesEveryIntegerBack) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    for (const std::uint64_t near : {value - 1, value, value + 1}) {
      expect_integer_round_trip(near);
      expect_integer_round_trip(static_cast<std::int64_t>(near));
      expect_integer_round_trip(static_cast<std::int64_t>(~near));
      expect_integer_round_trip(static_cast<std::int16_t>(near));
    }
  }
}

TEST(Unpacker, RefusesIntegersThatDoNotFit) {
  const auto read_as = [](auto value, std::int64_t written) {
    const Encoded bytes = packed([&](Packer& p) { p.signed_integer(written); });
    Unpacker in(bytes);
    return in.integer(value);
  };
  EXPECT_TRUE(read_as(std::uint8_t{}, 255));
  EXPECT_FALSE(read_as(std::uint8_t{}, 256));
  EXPECT_FALSE(read_as(std::uint8_t{}, -1));
  EXPECT_TRUE(read_as(std::int8_t{}, -128));
  EXPECT_FALSE(read_as(std::int8_t{}, -129));
  EXPECT_FALSE(read_as(std::int8_t{}, 128));
  EXPECT_FALSE(read_as(std::uint64_t{}, std::numeric_limits<std::int64_t>::min()));
  const Encoded large = packed([](Packer& p) { p.unsigned_integer(~std::uint64_t{0}); });
  std::int64_t value = 0;
  EXPECT_FALSE(Unpacker(large).integer(value));
}

TEST(Unpacker, RefusesEveryPrefix) {
  const Encoded bytes = packed([](Packer& p) {
    p.array(3);
    p.str(std::string(300, 'x'));
    p.f64(1);
    p.unsigned_integer(1U << 20);
  });
  const auto read = [](std::span<const std::byte> input) {
    Unpacker in(input);
    std::size_t count = 0;
    std::string_view text;
    double number = 0;
    std::uint32_t integer = 0;
    return in.array(count) && in.str(text) && in.floating(number) && in.integer(integer);
  };
  EXPECT_TRUE(read(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(std::span(bytes).first(size))) << size;
  }
}

TEST(Unpacker, DoesNotBelieveACountThatTheInputCannotHold) {
  const std::byte input[] = {std::byte{0xdd}, std::byte{0xff}, std::byte{0xff},
                             std::byte{0xff}, std::byte{0xff}, std::byte{0x01}};
  std::size_t count = 0;
  EXPECT_FALSE(Unpacker(input).array(count));
  const std::byte map[] = {std::byte{0x82}, std::byte{1}, std::byte{1}, std::byte{1}};
  EXPECT_FALSE(Unpacker(map).map(count));
}

}  // namespace
}  // namespace godwit
