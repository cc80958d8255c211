#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/folder_for_test.hpp"
#include "godwit/channel.hpp"

namespace godwit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ChannelUrl, ItsPartsAreTold) {
  const auto url =
      ChannelUrl::parse("rediss+cluster://me:p%40ss%2F@h1:1,[::1]:2/3?ca=/a%20b&ttl=5").value();
  EXPECT_EQ(url.scheme, "rediss+cluster");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "p@ss/");
  EXPECT_THAT(url.hosts, ElementsAre("h1:1", "[::1]:2"));
  EXPECT_EQ(url.path, "/3");
  EXPECT_EQ(url.option("ca"), "/a b");
  EXPECT_EQ(url.number("ttl", 1, 10).value(), 5U);
  EXPECT_EQ(url.number("other", 7, 10).value(), 7U);
  EXPECT_EQ(url.number("ttl", 1, 4).error().code, ErrorCode::bad_address);
  const auto file = ChannelUrl::parse("file:/shared/x?fsync=1").value();
  EXPECT_EQ(file.path, "/shared/x");
  EXPECT_TRUE(file.hosts.empty());
}

TEST(ChannelUrl, APasswordIsNeverShown) {
  const auto url = ChannelUrl::parse("redis://u:geheim@h:1/0").value();
  EXPECT_EQ(url.shown(), "redis://u:***@h:1/0");
  const auto failed = open_channel("redis://u:geheim@h:1/0?nonsense=1");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, Not(HasSubstr("geheim")));
  EXPECT_THAT(failed.error().message, HasSubstr("nonsense"));
}

TEST(ChannelUrl, APasswordMayComeFromAFileOrTheEnvironment) {
  const TestFolder folder;
  std::ofstream(folder / "pw") << "geheim\nmore\n";
  const std::string path = (folder / "pw").string();
  EXPECT_EQ(ChannelUrl::parse("redis://h?password-file=" + path)->password, "geheim");
  ::setenv("GODWIT_TEST_PW", "geheim2", 1);
  EXPECT_EQ(ChannelUrl::parse("redis://h?password-env=GODWIT_TEST_PW")->password, "geheim2");
  ::unsetenv("GODWIT_TEST_PW");
  EXPECT_EQ(ChannelUrl::parse("redis://h?password-env=GODWIT_TEST_PW").error().code,
            ErrorCode::not_found);
  EXPECT_EQ(ChannelUrl::parse("redis://h?password-file=/nowhere/x").error().code, ErrorCode::io);
}

TEST(ChannelUrl, WhatIsNoneIsRefused) {
  for (const char* text : {"", "nothing", ":x", "redis://h?db=%4"}) {
    EXPECT_FALSE(ChannelUrl::parse(text)) << text;
  }
  for (const char* text : {"file:relative", "file://host/x", "redis:", "redis://a,b", "redis://h/x",
                           "redis+cluster://h/3", "redis://h?ttl=soon", "file:/tmp/x?ttle=3"}) {
    EXPECT_EQ(open_channel(text).error().code, ErrorCode::bad_address) << text;
  }
  const auto unknown = open_channel("s3://bucket");
  EXPECT_EQ(unknown.error().code, ErrorCode::unsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("memory, redis, redis+cluster"));
  EXPECT_FALSE(register_channel("a b", [](const ChannelUrl&) { return open_channel("memory:"); }));
}

TEST(ChannelOptions, ALineOfTextSaysNameUrlAndPolicy) {
  const auto options = ChannelOptions::parse(
                           "scratch file:/x?fsync=1 min_size=64k max_size=2g  hosts=a*|b? "
                           "tags=bulk|raw priority=-3")
                           .value();
  EXPECT_EQ(options.name, "scratch");
  EXPECT_EQ(options.url, "file:/x?fsync=1");
  EXPECT_EQ(options.policy.min_size, 65'536U);
  EXPECT_EQ(options.policy.max_size, std::uint64_t{2} << 30);
  EXPECT_THAT(options.policy.hosts, ElementsAre("a*", "b?"));
  EXPECT_THAT(options.policy.tags, ElementsAre("bulk", "raw"));
  EXPECT_EQ(options.policy.priority, -3);
  for (const char* text : {"", "x", "memory file:/x", "a/b file:/x", "x file:/x size=3",
                           "x file:/x min_size=3q", "x file:/x priority=high", "x file:/x what"}) {
    EXPECT_EQ(ChannelOptions::parse(text).error().code, ErrorCode::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace godwit
