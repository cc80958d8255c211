#include "godwit/handle.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "ref/home/handle_key.hpp"

namespace godwit::ref {
namespace {

Handle sample() {
  Handle handle;
  handle.rights = Rights::read | Rights::evict;
  for (std::size_t i = 0; i < handle.object.bytes.size(); ++i) {
    handle.object.bytes[i] = static_cast<std::uint8_t>(0xF0 + i);
  }
  handle.version = 3;
  handle.size = 1'024;
  handle.type = 0x1122'3344'5566'7788;
  handle.home = 42;
  return handle;
}

TEST(Handle, ItsTextComesBack) {
  Handle handle = sample();
  HandleKey::random().sign(handle);
  const std::string text = handle.to_text();
  EXPECT_EQ(text.size(), 92);
  const auto parsed = Handle::parse(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, handle);
}

TEST(Handle, ItsTextIsTheSameOnEveryMachine) {
  EXPECT_EQ(
      sample().to_text(),
      "gdw://AQAFAAAAAADw8fLz9PX29_j5-vv8_f7_AwAAAAAAAAAABAAAAAAAAIh3ZlVEMyIRKgAAAAAAAAAAAAAAAA"
      "AAAA");
}

TEST(Handle, TextThatWasDamagedIsRefusedWithTheReason) {
  const std::string text = sample().to_text();
  const auto refused = [](std::string_view damaged, std::string_view why) {
    const auto parsed = Handle::parse(damaged);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_format);
    EXPECT_NE(parsed.error().message.find(why), std::string::npos) << parsed.error().message;
  };
  refused("", "begins with gdw://");
  refused("http://example", "begins with gdw://");
  refused(std::string_view(text).substr(0, text.size() - 1), "cut short");
  refused(text + "A", "something was added");
  std::string other = text;
  other[20] = '!';
  refused(other, "damaged");
  other = text;
  other[6] = 'B';
  refused(other, "format");
}

TEST(HandleKey, AcceptsWhatItSignedAndNothingElse) {
  const HandleKey key = HandleKey::random();
  Handle handle = sample();
  key.sign(handle);
  ASSERT_TRUE(key.verify(handle));
  // Whatever bit is changed, the handle is no good any more.
  for (std::size_t bit = 0; bit < sizeof handle * 8; ++bit) {
    Handle changed = handle;
    auto* bytes = reinterpret_cast<unsigned char*>(&changed);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    EXPECT_FALSE(key.verify(changed)) << "bit " << bit;
  }
}

TEST(HandleKey, HandlesOfAnotherLifeAreToldApartFromForgedOnes) {
  Handle handle = sample();
  HandleKey::random().sign(handle);
  const Status stranger = HandleKey::random().verify(handle);
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().message.find("last start"), std::string::npos);
}

TEST(HandleKey, IsTheSameAgainFromItsSecret) {
  const HandleKey key = HandleKey::random();
  Handle handle = sample();
  key.sign(handle);
  EXPECT_TRUE(HandleKey(key.secret()).verify(handle));
}

TEST(Rights, ReadAsWords) {
  EXPECT_EQ(to_string(Rights::none), "none");
  EXPECT_EQ(to_string(Rights::read | Rights::evict), "read+evict");
  EXPECT_EQ(to_string(Rights::all), "read+write+evict+delegate");
}

}  // namespace
}  // namespace godwit::ref
