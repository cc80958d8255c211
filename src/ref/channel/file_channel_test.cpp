#include "ref/channel/file_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <utime.h>

#include <csignal>
#include <fstream>

#include "base/folder_for_test.hpp"

namespace godwit::ref {
namespace {

using testing::HasSubstr;

class FileChannelTest : public testing::Test {
 protected:
  std::unique_ptr<Channel> open(const std::string& more = "") {
    return open_channel("file:" + store() + more).value();
  }
  std::string store() const { return (folder_ / "store").string(); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }
  static Status put(Channel& channel, std::string_view key, const std::string& text) {
    const Bytes part = bytes_of(text);
    return channel.put(key, {&part, 1});
  }
  static void make_old(const std::filesystem::path& path, std::time_t seconds) {
    const std::time_t when = std::time(nullptr) - seconds;
    const utimbuf times{when, when};
    ASSERT_EQ(::utime(path.c_str(), &times), 0);
  }
  TestFolder folder_;
};

TEST_F(FileChannelTest, DamageIsSeen) {
  const auto channel = open();
  ASSERT_TRUE(put(*channel, "k", std::string(1000, 'x')));
  const auto file = files().at(0);
  {
    std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
    damage.seekp(500);
    damage.put('y');
  }
  std::vector<std::byte> into(1000);
  const Status got = channel->get("k", 0, into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::bad_format);
  EXPECT_THAT(got.error().message, HasSubstr(file.string()));
  std::filesystem::resize_file(file, 700);
  EXPECT_EQ(channel->get("k", 690, std::span(into).first(10)).error().code, ErrorCode::bad_format);
  std::filesystem::resize_file(file, 10);
  EXPECT_EQ(channel->size("k").error().code, ErrorCode::bad_format);
}

TEST_F(FileChannelTest, AFullDiskIsResourceExhaustedAndLeavesNothing) {
  const auto channel = open();
  ASSERT_TRUE(put(*channel, "k", "before"));
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{100'000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status done = put(*channel, "k", std::string(200'000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::resource_exhausted);
  EXPECT_THAT(done.error().message, HasSubstr(store()));
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(channel->size("k").value(), 6U);  // what was there is there
}

TEST_F(FileChannelTest, WhatDeadWritersAndDeadHomesLeftGoesByItsAge) {
  {
    const auto channel = open();
    ASSERT_TRUE(put(*channel, "old", "x"));
    ASSERT_TRUE(put(*channel, "young", "x"));
    ASSERT_TRUE(put(*channel, "renewed", "x"));
  }
  for (const auto& file : files()) {
    if (file.filename() != "young") make_old(file, 100'000);
    std::ofstream(file.string() + ".123.tmp") << "half";
  }
  for (const auto& file : files()) {
    if (file.string().find("old.123.tmp") != std::string::npos) make_old(file, 4000);
  }
  const std::vector<std::string> wanted{"renewed", "gone"};
  {
    const auto keeper = open("?ttl=0");  // removes leftovers, but no values
    EXPECT_EQ(files().size(), 5U);
    EXPECT_TRUE(keeper->renew(wanted));
  }
  const auto channel = open();
  EXPECT_FALSE(channel->exists("old").value());
  EXPECT_TRUE(channel->exists("young").value());
  EXPECT_TRUE(channel->exists("renewed").value());
}

TEST_F(FileChannelTest, FsyncAndAFolderThatCannotBeMade) {
  const auto channel = open("?fsync=1");
  ASSERT_TRUE(put(*channel, "k", "x"));
  EXPECT_EQ(channel->size("k").value(), 1U);
  EXPECT_EQ(open_channel("file:/nowhere/at/all").error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace godwit::ref
