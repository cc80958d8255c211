#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "godwit/channel.hpp"
#include "ref/channel/channel_set.hpp"

namespace godwit::ref {
namespace {

using testing::HasSubstr;

TEST(ChannelPlugin, ALibraryAddsAScheme) {
  EXPECT_EQ(open_channel("letters:/xyz").error().code, ErrorCode::unsupported);
  const Status loaded = load_channel_plugin(GODWIT_TEST_CHANNEL_PLUGIN);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto channel = open_channel("letters:/xyz").value();
  EXPECT_EQ(channel->size("k").value(), 4U);
  std::array<std::byte, 2> into{};
  EXPECT_TRUE(channel->get("k", 0, into));
  EXPECT_EQ(into[1], std::byte{'a'});
  EXPECT_TRUE(channel->exists("k").value());
  EXPECT_EQ(channel->put("k", {}).error().message, "letters are for reading");
}

TEST(ChannelPlugin, WhatIsNoneIsRefusedByName) {
  const Status missing = load_channel_plugin("/nowhere/libx.so");
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_THAT(missing.error().message, HasSubstr("/nowhere/libx.so"));
  const Status other = load_channel_plugin("libm.so.6");
  EXPECT_EQ(other.error().code, ErrorCode::bad_format);
  EXPECT_THAT(other.error().message, HasSubstr("GODWIT_CHANNEL_PLUGIN"));
}

TEST(ChannelNames, PasswordsAreTakenOutOfAnyText) {
  EXPECT_EQ(without_password("a redis://me:geheim@h:1/0 x=1"), "a redis://me:***@h:1/0 x=1");
  EXPECT_EQ(without_password("a rediss://:p:w@d@h b file:/x"), "a rediss://:***@h b file:/x");
  EXPECT_EQ(without_password("--channel a redis://h:1/0"), "--channel a redis://h:1/0");
  EXPECT_EQ(without_password("a redis://me@h:1/0"), "a redis://me@h:1/0");
}

TEST(ChannelSet, NamesAreUniqueAndErrorsNameThem) {
  const std::vector<ChannelOptions> twice{{.name = "a", .url = "memory:"},
                                          {.name = "a", .url = "memory:"}};
  EXPECT_EQ(ChannelSet::open(twice).error().code, ErrorCode::invalid_argument);
  const std::vector<ChannelOptions> bad{{.name = "b", .url = "nothing:"}};
  EXPECT_THAT(ChannelSet::open(bad).error().message, HasSubstr("channel b: "));
}

// One that fails as it is told to.
class FailingChannel final : public Channel {
 public:
  Status put(std::string_view, Parts) override { return tl::unexpected(Error{code, "told to"}); }
  Status get(std::string_view, std::uint64_t, std::span<std::byte>) override { return {}; }
  Result<std::uint64_t> size(std::string_view) override {
    return tl::unexpected(Error{code, "no"});
  }
  Status remove(std::string_view) override { return {}; }
  [[nodiscard]] std::string describe() const override { return "failing:"; }
  ErrorCode code = ErrorCode::unreachable;
};

TEST(NamedChannel, OneThatFailsRestsAndIsPassedOver) {
  auto made = std::make_unique<FailingChannel>();
  FailingChannel& channel = *made;
  NamedChannel named({.name = "x", .url = "failing:"}, std::move(made));
  channel.code = ErrorCode::not_found;
  EXPECT_FALSE(named.size("k"));
  EXPECT_TRUE(named.healthy()) << "one key that is missing says nothing of the others";
  channel.code = ErrorCode::unreachable;
  const Status failed = named.put("k", {});
  EXPECT_EQ(failed.error().message, "channel x (failing:): told to");
  EXPECT_FALSE(named.healthy());
  EXPECT_EQ(named.trouble(), "told to");
  EXPECT_TRUE(named.get("k", 0, {}));
  EXPECT_TRUE(named.healthy()) << "it answers again";
}

}  // namespace
}  // namespace godwit::ref
