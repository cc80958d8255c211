#include "code/native/runtime_directory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/folder_for_test.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

class RuntimeDirectories : public testing::Test {
 protected:
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(base_), fs::directory_iterator());
  }
  TestFolder folder_;
  const fs::path& base_ = folder_.path();
};

TEST_F(RuntimeDirectories, IsPrivateAndGoneWithItsOwner) {
  {
    const auto directory = RuntimeDirectory::create(base_ / "deeper");
    ASSERT_TRUE(directory) << directory.error().message;
    EXPECT_EQ(fs::status(directory->path()).permissions(), fs::perms::owner_all);
    std::ofstream(directory->path() / "file") << "content";
    EXPECT_TRUE(fs::exists(directory->path()));
  }
  EXPECT_TRUE(fs::is_empty(base_ / "deeper"));
}

TEST_F(RuntimeDirectories, OwnersOfOneBaseDoNotDisturbEachOther) {
  const auto first = RuntimeDirectory::create(base_);
  const auto second = RuntimeDirectory::create(base_);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_NE(first->path(), second->path());
  EXPECT_TRUE(fs::exists(first->path())) << "the second owner purged the first one's directory";
}

TEST_F(RuntimeDirectories, TheLastOwnerTakesTheBaseAwayIfToldTo) {
  const fs::path base = base_ / "deeper";
  using enum RuntimeDirectory::EmptyBase;
  {
    const auto first = RuntimeDirectory::create(base, remove);
    {
      const auto second = RuntimeDirectory::create(base, remove);
    }
    ASSERT_TRUE(first);
    EXPECT_TRUE(fs::exists(first->path())) << "the second owner took more than its own";
  }
  EXPECT_FALSE(fs::exists(base));
  {
    const auto third = RuntimeDirectory::create(base, keep);
  }
  EXPECT_TRUE(fs::exists(base));
}

// Owners that come and go at the same time: each finds a base, though others take it away.
TEST_F(RuntimeDirectories, ABaseThatGoesAwayIsMadeAgain) {
  const fs::path base = base_ / "deeper";
  std::atomic<int> failures{0};
  std::vector<std::thread> owners;
  for (int i = 0; i < 4; ++i) {
    owners.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        if (!RuntimeDirectory::create(base, RuntimeDirectory::EmptyBase::remove)) ++failures;
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(failures, 0);
  EXPECT_FALSE(fs::exists(base));
}

TEST_F(RuntimeDirectories, WhatAKilledOwnerLeftIsPurged) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto directory = RuntimeDirectory::create(base_);
    if (directory) std::ofstream(directory->path() / "file") << "content";
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(count(), 1) << "the killed owner should have left its directory";
  const auto directory = RuntimeDirectory::create(base_);
  ASSERT_TRUE(directory);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(fs::exists(directory->path()));
}

TEST_F(RuntimeDirectories, OtherFilesAreLeftAlone) {
  const std::vector<std::string> others = {"precious",
                                           "godwit-cc-Ab12Cd",
                                           "godwit-12",
                                           "godwit-x-0123456789abcdef",
                                           "godwit-12-0123456789abcde",
                                           "godwit-12-0123456789abcdefg"};
  for (const std::string& name : others) fs::create_directory(base_ / name);
  std::ofstream(base_ / "godwit-notes.txt") << "mine";
  fs::create_directory_symlink(base_ / "precious", base_ / "godwit-link");
  ASSERT_TRUE(RuntimeDirectory::create(base_));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(base_ / name)) << name;
  EXPECT_TRUE(fs::exists(base_ / "godwit-notes.txt"));
  EXPECT_TRUE(fs::is_symlink(base_ / "godwit-link"));
}

TEST_F(RuntimeDirectories, AnImpossiblePlaceIsNamed) {
  std::ofstream(base_ / "file") << "content";
  const auto directory = RuntimeDirectory::create(base_ / "file");
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("file"), std::string::npos);
}

TEST_F(RuntimeDirectories, TheDefaultBaseCanBeUsed) {
  EXPECT_TRUE(fs::is_directory(default_runtime_base()));
}

}  // namespace
}  // namespace godwit::code
