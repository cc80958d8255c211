// The cache of compiled objects: found again, never trusted, never too large, never required.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "code/jit/jit_fixture.hpp"
#include "code/jit/object_cache.hpp"

namespace godwit::code::jit {
namespace {

namespace fs = std::filesystem;

ContentId key_of(int number) {
  return ContentId::of(bytes_of_value(number));
}

std::string object_of(std::size_t size, char fill) {
  return std::string(size, fill);
}

TEST(JitCache, ServesTheNextProcess) {
  const TemporaryDirectory directory;
  for (int process = 0; process < 2; ++process) {
    auto jit = open_or_fail({.cache_directory = directory.path() + "/deep/er"});
    const auto library = load_or_fail(*jit, "add", Tier::optimised);
    EXPECT_EQ(call(*library, "add", 1, 2).word(), 3U);
    EXPECT_EQ(jit->counters().compiled, process == 0 ? 1U : 0U);
    EXPECT_EQ(jit->counters().cache_hits, process == 0 ? 0U : 1U);
    EXPECT_TRUE(jit->take_warnings().empty());
  }
  struct stat status{};
  ASSERT_EQ(stat((directory.path() + "/deep/er").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST(JitCache, KeepsTheOptimisedTierAlone) {
  const TemporaryDirectory directory;
  auto jit = open_or_fail({.cache_directory = directory.path()});
  load_or_fail(*jit, "add", Tier::fast);
  EXPECT_TRUE(directory.files().empty());
  load_or_fail(*jit, "add", Tier::optimised);
  EXPECT_EQ(jit->counters().compiled, 2U);
  EXPECT_EQ(directory.files().size(), 1U);
}

TEST(JitCache, FindsByTheSlicesIdWhatWasCompiledElsewhere) {
  const TemporaryDirectory directory;
  const std::string code = test_bitcode("add");
  const LoadRequest whole{.slice = ContentId::of(bytes_of(code)),
                          .code = bytes_of(code),
                          .name = "test",
                          .needs = {},
                          .tier = Tier::optimised};
  LoadRequest named = whole;
  named.code = {};
  auto jit = open_or_fail({.cache_directory = directory.path()});
  EXPECT_EQ(jit->find_compiled(named), nullptr);
  ASSERT_TRUE(jit->compile(whole));
  jit = open_or_fail({.cache_directory = directory.path()});
  named.compiled = jit->find_compiled(named);
  ASSERT_NE(named.compiled, nullptr);
  const auto library = jit->load(named);
  ASSERT_TRUE(library) << library.error().message;
  EXPECT_EQ(call(**library, "add", 1, 2).word(), 3U);
  EXPECT_EQ(jit->counters().compiled, 0U);
  named.tier = Tier::fast;
  named.compiled = nullptr;
  EXPECT_EQ(jit->find_compiled(named), nullptr);
}

TEST(JitCache, CompilesAgainWhenAFileIsDamaged) {
  const TemporaryDirectory directory;
  auto jit = open_or_fail({.cache_directory = directory.path()});
  load_or_fail(*jit, "add", Tier::optimised);
  const fs::path path = directory.files().at(0);
  const auto size = fs::file_size(path);
  const auto damage = [&](std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  };
  std::uint64_t expected = 0;
  for (const std::uintmax_t at :
       {std::uintmax_t{0}, std::uintmax_t{9}, std::uintmax_t{20}, size / 2, size - 1}) {
    damage(at);
    const auto library = load_or_fail(*jit, "add", Tier::optimised);
    EXPECT_EQ(call(*library, "add", 1, 2).word(), 3U);
    EXPECT_EQ(jit->counters().cache_rejected, ++expected);
  }
  fs::resize_file(path, 10);
  load_or_fail(*jit, "add", Tier::optimised);
  EXPECT_EQ(jit->counters().cache_rejected, ++expected);
  EXPECT_EQ(jit->counters().cache_hits, 0U);
}

TEST(JitCache, DeletesTheLeastRecentlyUsedBeyondItsLimit) {
  const TemporaryDirectory directory;
  auto cache = ObjectCache::open(directory.path(), 10'000).value();
  for (int number = 0; number < 9; ++number) {
    ASSERT_TRUE(cache->store(key_of(number), bytes_of(object_of(1'000, 'a'))));
    const auto age = std::chrono::hours(20 - number);
    fs::last_write_time(directory.path() + "/" + key_of(number).hex() + ".gdwo",
                        fs::file_time_type::clock::now() - age);
  }
  ASSERT_TRUE(cache->find(key_of(0)).object);  // used just now
  ASSERT_TRUE(cache->store(key_of(9), bytes_of(object_of(1'000, 'b'))));
  EXPECT_TRUE(cache->find(key_of(0)).object);
  EXPECT_FALSE(cache->find(key_of(1)).object);
  EXPECT_TRUE(cache->find(key_of(9)).object);
  EXPECT_EQ(directory.files().size(), 8U);  // nine tenths of the limit
}

TEST(JitCache, DoesNotKeepWhatIsLargerThanItsLimit) {
  const TemporaryDirectory directory;
  auto cache = ObjectCache::open(directory.path(), 1'000).value();
  ASSERT_TRUE(cache->store(key_of(1), bytes_of(object_of(2'000, 'a'))));
  EXPECT_FALSE(cache->find(key_of(1)).object);
  EXPECT_TRUE(directory.files().empty());
}

TEST(JitCache, LeavesForeignFilesAlone) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/letter.txt") << std::string(5'000, 'x');
  auto cache = ObjectCache::open(directory.path(), 1'100).value();
  for (int number = 0; number < 5; ++number) {
    ASSERT_TRUE(cache->store(key_of(number), bytes_of(object_of(1'000, 'a'))));
  }
  EXPECT_TRUE(fs::exists(directory.path() + "/letter.txt"));
}

TEST(JitCache, StoresFromSeveralThreads) {
  const TemporaryDirectory directory;
  auto cache = ObjectCache::open(directory.path(), 1 << 20).value();
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&cache] {
      for (int number = 0; number < 50; ++number) {
        ASSERT_TRUE(cache->store(key_of(number), bytes_of(object_of(100, 'a'))));
        ASSERT_EQ(cache->find(key_of(number)).object->size(), 100U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(directory.files().size(), 50U);
}

TEST(JitCache, IsDoneWithoutWhenTheDirectoryIsUnusable) {
  const TemporaryDirectory directory;
  const std::string shared = directory.path() + "/shared";
  const std::string file = directory.path() + "/file";
  ASSERT_TRUE(fs::create_directory(shared));
  ASSERT_EQ(chmod(shared.c_str(), 0777), 0);
  std::ofstream(file) << "not a directory";
  for (const std::string& path : {shared, file, file + "/below"}) {
    auto jit = open_or_fail({.cache_directory = path});
    const auto warnings = jit->take_warnings();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0], testing::HasSubstr(path));
    EXPECT_TRUE(jit->take_warnings().empty()) << "each is given once";
    EXPECT_EQ(call(*load_or_fail(*jit, "add", Tier::fast), "add", 1, 2).word(), 3U);
  }
}

TEST(JitCache, WarnsOnceWhenTheDirectoryGoesAway) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/cache";
  auto jit = open_or_fail({.cache_directory = path});
  fs::remove_all(path);
  for (const Tier tier : {Tier::fast, Tier::optimised}) {
    EXPECT_EQ(call(*load_or_fail(*jit, "add", tier), "add", 1, 2).word(), 3U);
  }
  EXPECT_EQ(jit->take_warnings().size(), 1U);
}

}  // namespace
}  // namespace godwit::code::jit
