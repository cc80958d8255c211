#include "ref/disk/object_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.hpp"

namespace godwit::ref {
namespace {

namespace fs = std::filesystem;

class ObjectFolderTest : public testing::Test {
 protected:
  ObjectFolderTest() : path_(testing::TempDir() + "godwit-objects-" + std::to_string(::getpid())) {}
  ~ObjectFolderTest() override { fs::remove_all(path_); }

  ObjectFolder::Opened open(bool check_data = false, std::uint64_t budget = 1ULL << 30) {
    auto opened =
        ObjectFolder::open({.path = path_, .budget_bytes = budget, .check_data = check_data});
    EXPECT_TRUE(opened) << opened.error().message;
    return *std::move(opened);
  }
  [[nodiscard]] std::string file_of(const ObjectRecord& record) const {
    return path_ + "/" + ObjectFileName::of(record.handle).text();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

  const std::string path_;
};

ObjectRecord record_of(std::uint8_t id, std::size_t size, bool persistent = true) {
  ObjectRecord record;
  record.handle.object.bytes.fill(id);
  record.handle.version = 1;
  record.handle.size = size;
  record.lifetime = {LifetimeKind::readers, 4, {}};
  record.persistent = persistent;
  record.written_ns = 99;
  return record;
}

std::vector<std::byte> data_of(const ObjectRecord& record) {
  Random random(record.handle.object.bytes[0]);
  std::vector<std::byte> data(record.handle.size);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.next());
  return data;
}

void damage(const std::string& path, std::size_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 1));
}

TEST_F(ObjectFolderTest, WhatPersistsIsThereForTheNextProcess) {
  const std::size_t sizes[] = {0, 1, 1'000, 1'000'000};
  {
    const auto opened = open();
    std::uint8_t id = 1;
    for (const std::size_t size : sizes) {
      const ObjectRecord record = record_of(id++, size);
      const Status written = opened.folder->write(record, data_of(record));
      ASSERT_TRUE(written) << written.error().message;
    }
    EXPECT_EQ(opened.folder->used_bytes(), 1'001'001 + 4 * ObjectHead::kSize);
  }
  const auto opened = open(true);
  EXPECT_EQ(opened.objects.size(), std::size(sizes));
  EXPECT_TRUE(opened.broken.empty());
  EXPECT_EQ(opened.folder->used_bytes(), 1'001'001 + 4 * ObjectHead::kSize);
  for (const ObjectRecord& record : opened.objects) {
    EXPECT_EQ(record, record_of(record.handle.object.bytes[0], record.handle.size));
    std::vector<std::byte> data(record.handle.size);
    const Status read = opened.folder->read(record.handle, data);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(data, data_of(record));
    EXPECT_TRUE(opened.folder->remove(record.handle));
    EXPECT_TRUE(opened.folder->remove(record.handle));
    EXPECT_EQ(opened.folder->read(record.handle, data).error().code, ErrorCode::not_found);
  }
  EXPECT_EQ(opened.folder->used_bytes(), 0);
  EXPECT_EQ(files(), 0);
}

TEST_F(ObjectFolderTest, WhatWasOutOfMemoryOrUnfinishedIsGoneForTheNextProcess) {
  const ObjectRecord spilled = record_of(1, 100, false);
  {
    const auto opened = open();
    ASSERT_TRUE(opened.folder->write(spilled, data_of(spilled)));
    std::vector<std::byte> data(100);
    ASSERT_TRUE(opened.folder->read(spilled.handle, data));
    EXPECT_EQ(data, data_of(spilled));
  }
  std::ofstream(file_of(record_of(2, 1)) + ".17.tmp") << "half of";
  std::ofstream(path_ + "/handle.key.1.tmp") << "half of";
  std::ofstream(path_ + "/letter.1.tmp") << "not ours";
  std::ofstream(path_ + "/notes.txt") << "not ours";
  const auto opened = open();
  EXPECT_EQ(opened.removed, 3);
  EXPECT_TRUE(opened.objects.empty());
  EXPECT_TRUE(opened.broken.empty());
  EXPECT_EQ(files(), 2);
}

TEST_F(ObjectFolderTest, DamageIsReportedWithTheFileAndTheReason) {
  const ObjectRecord record = record_of(1, 100'000);
  const auto opened = open();
  std::vector<std::byte> data(record.handle.size);
  const auto refused = [&](std::string_view why) {
    const Status read = opened.folder->read(record.handle, data);
    ASSERT_FALSE(read) << why;
    EXPECT_EQ(read.error().code, ErrorCode::bad_format);
    EXPECT_NE(read.error().message.find(file_of(record)), std::string::npos);
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  };
  const auto write = [&] { ASSERT_TRUE(opened.folder->write(record, data_of(record))); };
  write();
  damage(file_of(record), 50'000);
  refused("data was damaged");
  write();
  damage(file_of(record), 40);
  refused("head was damaged");
  write();
  fs::resize_file(file_of(record), 50'000);
  refused("50000 bytes");
  fs::resize_file(file_of(record), 10);
  refused("cut short");
  const ObjectRecord other = record_of(2, 100'000);
  ASSERT_TRUE(opened.folder->write(other, data_of(other)));
  fs::rename(file_of(other), file_of(record));
  refused("instead");
  fs::remove(file_of(record));
  fs::create_symlink(path_ + "/elsewhere", file_of(record));
  refused("no plain file");
}

TEST_F(ObjectFolderTest, BrokenFilesAreSetAsideAndNeverLost) {
  const ObjectRecord good = record_of(1, 100);
  const ObjectRecord bad = record_of(2, 100'000);
  for (int round = 1; round <= 2; ++round) {
    {
      const auto opened = open();
      ASSERT_TRUE(opened.folder->write(good, data_of(good)));
      ASSERT_TRUE(opened.folder->write(bad, data_of(bad)));
    }
    // Heads are always looked at, the rest only if asked for.
    if (round == 1) damage(file_of(bad), 20);
    if (round == 2) damage(file_of(bad), 90'000);
    if (round == 2) {
      EXPECT_TRUE(open(false).broken.empty());
    }
    const auto opened = open(round == 2);
    ASSERT_EQ(opened.objects.size(), 1);
    EXPECT_EQ(opened.objects[0], good);
    ASSERT_EQ(opened.broken.size(), 1);
    EXPECT_EQ(opened.broken[0].path, file_of(bad) + "." + std::to_string(round) + ".broken");
    EXPECT_EQ(fs::file_size(opened.broken[0].path), ObjectHead::kSize + 100'000);
    EXPECT_NE(opened.broken[0].why.find("damaged"), std::string::npos) << opened.broken[0].why;
    EXPECT_EQ(opened.folder->used_bytes(), ObjectHead::kSize + 100);
  }
}

TEST_F(ObjectFolderTest, ALifetimeIsReplacedAndTheDataStays) {
  ObjectRecord record = record_of(1, 5'000);
  {
    const auto opened = open();
    EXPECT_EQ(opened.folder->set_lifetime(record).error().code, ErrorCode::not_found);
    ASSERT_TRUE(opened.folder->write(record, data_of(record)));
    record.lifetime = {LifetimeKind::lease, 0, std::chrono::minutes(5)};
    record.written_ns = 100;
    ASSERT_TRUE(opened.folder->set_lifetime(record));
  }
  const auto opened = open(true);
  ASSERT_EQ(opened.objects.size(), 1);
  EXPECT_EQ(opened.objects[0], record);
}

TEST_F(ObjectFolderTest, TheBudgetCountsWhatIsThereAndNotWhatWasReplaced) {
  const auto opened = open(false, 3'000);
  const ObjectRecord record = record_of(1, 1'000);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(opened.folder->write(record, data_of(record)));
  const ObjectRecord large = record_of(2, 2'000);
  const Status refused = opened.folder->write(large, data_of(large));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find("budget of 3000"), std::string::npos);
  EXPECT_EQ(files(), 1);
  ASSERT_TRUE(opened.folder->remove(record.handle));
  EXPECT_TRUE(opened.folder->write(large, data_of(large)));
}

TEST_F(ObjectFolderTest, SizesThatDoNotMatchTheHandleAreRefused) {
  const auto opened = open();
  const ObjectRecord record = record_of(1, 10);
  std::vector<std::byte> data(11);
  EXPECT_EQ(opened.folder->write(record, data).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(opened.folder->read(record.handle, data).error().code, ErrorCode::invalid_argument);
}

// A limit on the size of files stands for a full disk: it fails in the middle of a file, too.
TEST_F(ObjectFolderTest, AFileThatHasNoRoomLeavesNothingBehind) {
  const auto opened = open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 600'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const ObjectRecord record = record_of(1, 1'000'000);
  const Status written = opened.folder->write(record, data_of(record));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::resource_exhausted) << written.error().message;
  EXPECT_NE(written.error().message.find(file_of(record)), std::string::npos);
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(opened.folder->used_bytes(), 0);
}

constexpr int kNotPossible = 77;

// In a process of its own, with a disk of 1 MiB that nobody else sees. Returns what to exit with.
int fill_a_disk(const std::string& path) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return kNotPossible;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", path.c_str(), "tmpfs", 0, "size=1m,mode=700") != 0)
    return kNotPossible;
  const auto opened = ObjectFolder::open({.path = path, .budget_bytes = 1ULL << 30});
  if (!opened) return 1;
  int written = 0;
  for (std::uint8_t id = 1; id < 100; ++id) {
    const ObjectRecord record = record_of(id, 300'000);
    const Status status = opened->folder->write(record, data_of(record));
    if (status) {
      ++written;
      continue;
    }
    const auto left = std::distance(fs::directory_iterator(path), {});
    return written == 3 && left == 3 && status.error().code == ErrorCode::resource_exhausted ? 0
                                                                                             : 2;
  }
  return 3;
}

TEST_F(ObjectFolderTest, AFullDiskIsAnErrorAndLeavesNothingBehind) {
  fs::create_directory(path_);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(fill_a_disk(path_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotPossible) GTEST_SKIP() << "no disk of one's own can be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ObjectFolderTest, AFolderBelongsToOneProcessAndOneUser) {
  {
    const auto opened = open();
    const auto second = ObjectFolder::open({.path = path_, .budget_bytes = 1});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::already_exists);
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0770), 0);
  EXPECT_EQ(ObjectFolder::open({.path = path_, .budget_bytes = 1}).error().code,
            ErrorCode::permission);
  ASSERT_EQ(::chmod(path_.c_str(), 0700), 0);
  EXPECT_EQ(ObjectFolder::open({.path = path_ + "/no/such", .budget_bytes = 1}).error().code,
            ErrorCode::not_found);
  std::ofstream(path_ + "/file") << "x";
  EXPECT_FALSE(ObjectFolder::open({.path = path_ + "/file", .budget_bytes = 1}));
}

TEST_F(ObjectFolderTest, TheKeyIsTheSameForTheNextProcessAndReadByNobodyElse) {
  std::array<std::uint8_t, HandleKey::kBytes> secret{};
  const std::string file = path_ + "/handle.key";
  {
    const auto opened = open();
    const auto key = opened.folder->key();
    ASSERT_TRUE(key) << key.error().message;
    secret = key->secret();
    EXPECT_EQ(opened.folder->key()->secret(), secret);
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  const auto opened = open();
  EXPECT_EQ(opened.folder->key()->secret(), secret);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_EQ(opened.folder->key().error().code, ErrorCode::permission);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  damage(file, 12);
  const auto damaged = opened.folder->key();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::bad_format);
  EXPECT_NE(damaged.error().message.find(file), std::string::npos);
  fs::resize_file(file, 0);
  EXPECT_EQ(opened.folder->key().error().code, ErrorCode::bad_format);
}

TEST_F(ObjectFolderTest, ThreadsThatAskForTheFirstKeyGetTheSame) {
  const auto opened = open();
  std::array<std::uint8_t, HandleKey::kBytes> secrets[2] = {};
  std::thread other([&] { secrets[0] = opened.folder->key()->secret(); });
  secrets[1] = opened.folder->key()->secret();
  other.join();
  EXPECT_EQ(secrets[0], secrets[1]);
}

}  // namespace
}  // namespace godwit::ref
