#include "region/store.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/folder_for_test.hpp"
#include "region/mapped_shard.hpp"
#include "region/region_for_test.hpp"

namespace godwit::region {
namespace {

constexpr std::uint64_t kPage = fabric::kPageSize;

std::uint64_t* words(const Shard& shard) {
  return reinterpret_cast<std::uint64_t*>(shard.data());
}

TEST(ShardStore, GivesZeroedMemoryThatStaysInPlaceWhileItGrows) {
  ShardStore store({.budget_bytes = 10 * kPage});
  auto shard = store.create(list_over({kSelf}, 10, 4 * 512), 0);
  ASSERT_TRUE(shard) << shard.error().message;
  std::uint64_t* const data = words(**shard);
  EXPECT_EQ((*shard)->elements(), 10U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(data[i], 0U);
  data[9] = 9;
  ASSERT_TRUE((*shard)->grow(2000));
  EXPECT_EQ(words(**shard), data);
  EXPECT_EQ(data[9], 9U);
  EXPECT_EQ((*shard)->elements(), 2000U);
  EXPECT_EQ(store.budget().used_bytes(), 4 * kPage);
  ASSERT_TRUE((*shard)->grow(5)) << "never fewer";
  EXPECT_EQ((*shard)->elements(), 2000U);
}

TEST(ShardStore, RefusesWhatTheBudgetHasNoRoomForAndSaysWhatIsLeft) {
  ShardStore store({.budget_bytes = 4 * kPage});
  auto first = store.create(list_over({kSelf}, 3 * 512, 100'000), 0);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = store.create(list_over({kSelf}, 2 * 512), 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(second.error().message.find("'list' wants 8192 bytes more"), std::string::npos)
      << second.error().message;
  EXPECT_NE(second.error().message.find("4096 of their 16384 left"), std::string::npos);
  const Status grown = (*first)->grow(5 * 512);
  ASSERT_FALSE(grown);
  EXPECT_EQ(grown.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ((*first)->elements(), 3 * 512U) << "nothing has changed";
  EXPECT_EQ(store.budget().used_bytes(), 3 * kPage);
  first->reset();
  EXPECT_EQ(store.budget().used_bytes(), 0U);
  EXPECT_TRUE(store.create(list_over({kSelf}, 4 * 512), 0));
}

TEST(ShardStore, GivesMemoryBackWhereItIsTold) {
  std::vector<Task> tasks;
  ShardStore store(
      {.budget_bytes = kPage, .dispose = [&](Task task) { tasks.push_back(std::move(task)); }});
  auto shard = store.create(list_over({kSelf}, 10), 0);
  ASSERT_TRUE(shard);
  shard->reset();
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(store.budget().used_bytes(), kPage);
  tasks.front()();
  EXPECT_EQ(store.budget().used_bytes(), 0U);
}

TEST(ShardStore, AShardThatHoldsNothingYetIsAShard) {
  ShardStore store({.budget_bytes = kPage});
  // Five elements over four nodes, two each: the last has none.
  const auto shard = store.create(list_over({NodeId{1}, NodeId{2}, NodeId{3}, NodeId{4}}, 5), 3);
  ASSERT_TRUE(shard) << shard.error().message;
  EXPECT_EQ((*shard)->elements(), 0U);
  EXPECT_EQ(store.budget().used_bytes(), 0U);
}

TEST(MappedShard, SeesWhatItsHomeWritesUntilItIsDropped) {
  ShardStore store({.budget_bytes = 10 * kPage});
  auto shard = store.create(list_over({kOther, kSelf}, 20, 4096), 1);
  ASSERT_TRUE(shard);
  const auto shared = (*shard)->share();
  ASSERT_TRUE(shared) << shared.error().message;
  const auto life = store.share_life();
  ASSERT_TRUE(life) << life.error().message;
  EXPECT_FALSE(MappedShard::create({kSelf, 77, 0}, shared->grant, shared->memory, *life))
      << "another shard than was asked for";
  const auto mapped = MappedShard::create({kSelf, 77, 1}, shared->grant, shared->memory, *life);
  ASSERT_TRUE(mapped) << mapped.error().message;
  const MappedShard& view = **mapped;
  EXPECT_EQ(view.capacity_elements(), 2048U);
  EXPECT_EQ(view.elements(), 0U) << "blocks fill up one after another";
  ASSERT_TRUE((*shard)->grow(5));
  words(**shard)[4] = 4;
  EXPECT_EQ(view.elements(), 5U);
  EXPECT_EQ(reinterpret_cast<const std::uint64_t*>(view.data())[4], 4U);
  EXPECT_TRUE(view.is_good());
  (*shard)->set_state(wire::RegionState::sealed);
  EXPECT_TRUE(view.is_good());
  (*shard)->set_state(wire::RegionState::dropped);
  EXPECT_FALSE(view.is_good());
  EXPECT_TRUE(view.home_lives());
}

TEST(MappedShard, IsNotGoodAnyMoreWhenItsHomeEndsInGoodOrder) {
  auto store = std::make_unique<ShardStore>(ShardStore::Options{.budget_bytes = kPage});
  auto shard = store->create(list_over({kSelf}, 20), 0);
  ASSERT_TRUE(shard);
  const auto shared = (*shard)->share();
  const auto life = store->share_life();
  const auto mapped = MappedShard::create({kSelf, 77, 0}, shared->grant, shared->memory, *life);
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_TRUE((*mapped)->is_good());
  store.reset();
  EXPECT_FALSE((*mapped)->is_good());
}

TEST(ShardFile, OutlivesItsStoreAndIsFoundAgain) {
  const TestFolder folder;
  const ShardStore::Options options{.budget_bytes = 0, .directory = folder.path()};
  wire::RegionDescriptor list = list_over({kSelf}, 10, 1000);
  list.in_files = true;
  {
    ShardStore store(options);
    const auto shard = store.create(list, 0);
    ASSERT_TRUE(shard) << shard.error().message;
    EXPECT_EQ(words(**shard)[9], 0U);
    words(**shard)[9] = 99;
    ASSERT_TRUE((*shard)->grow(600));
    words(**shard)[599] = 600;
    EXPECT_EQ((*shard)->share().error().code, ErrorCode::unsupported);
    const auto twice = ShardStore(options).create(list, 0);
    ASSERT_FALSE(twice) << "two processes would write to it";
    EXPECT_EQ(twice.error().code, ErrorCode::already_exists);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "list.0"));
  list.id = 78;  // created again
  const auto again = ShardStore(options).create(list, 0);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->elements(), 600U);
  EXPECT_EQ(words(**again)[9], 99U);
  EXPECT_EQ(words(**again)[599], 600U);
  (*again)->set_state(wire::RegionState::dropped);
  EXPECT_FALSE(std::filesystem::exists(folder / "list.0"));
}

TEST(ShardFile, OfAnotherShapeIsLeftAlone) {
  const TestFolder folder;
  const ShardStore::Options options{.budget_bytes = 0, .directory = folder.path()};
  wire::RegionDescriptor list = list_over({kSelf}, 10);
  list.in_files = true;
  {
    ShardStore store(options);
    const auto shard = store.create(list, 0);
    ASSERT_TRUE(shard);
    words(**shard)[3] = 3;
  }
  wire::RegionDescriptor other = list;
  other.type = "f64";
  const auto wrong_type = ShardStore(options).create(other, 0);
  ASSERT_FALSE(wrong_type);
  EXPECT_EQ(wrong_type.error().code, ErrorCode::already_exists);
  EXPECT_NE(wrong_type.error().message.find("list.0"), std::string::npos);
  other = list;
  other.map.capacity = 20;
  const auto wrong_size = ShardStore(options).create(other, 0);
  ASSERT_FALSE(wrong_size);
  EXPECT_EQ(wrong_size.error().code, ErrorCode::already_exists);
  std::ofstream(folder / "list.1") << "something else";
  other = list_over({kOther, kSelf}, 10);
  other.in_files = true;
  const auto no_shard = ShardStore(options).create(other, 1);
  ASSERT_FALSE(no_shard);
  EXPECT_EQ(no_shard.error().code, ErrorCode::already_exists);
  const auto same = ShardStore(options).create(list, 0);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(words(**same)[3], 3U);
}

TEST(ShardFile, ACreationThatIsUndoneKeepsWhatWasThereBefore) {
  const TestFolder folder;
  const ShardStore::Options options{.budget_bytes = 0, .directory = folder.path()};
  wire::RegionDescriptor list = list_over({kSelf}, 10);
  list.in_files = true;
  (*ShardStore(options).create(list, 0))->undo();
  EXPECT_FALSE(std::filesystem::exists(folder / "list.0")) << "nothing was there";
  words(**ShardStore(options).create(list, 0))[3] = 3;
  const auto undone = *ShardStore(options).create(list, 0);
  undone->undo();
  const auto again = ShardStore(options).create(list, 0);  // while somebody has the other still
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(words(**again)[3], 3U);
}

TEST(ShardFile, OfAnEarlierLifeIsFoundWholeOrNotMade) {
  const TestFolder folder;
  const ShardStore::Options options{.budget_bytes = 0, .directory = folder.path()};
  const std::string file = folder / "list.0";
  wire::RegionDescriptor list = list_over({kSelf}, 10, 1000);
  list.in_files = true;
  const auto find = [&] { return ShardStore(options).create(list, 0, FileUse::find); };
  const auto missing = find();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("list.0 is gone"), std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(std::filesystem::exists(file));
  words(**ShardStore(options).create(list, 0))[9] = 9;
  EXPECT_EQ(words(**find())[9], 9U);
  list.elements = 11;
  const auto short_of_one = find();
  ASSERT_FALSE(short_of_one);
  EXPECT_EQ(short_of_one.error().code, ErrorCode::already_exists);
  EXPECT_NE(short_of_one.error().message.find("10 elements of the 11"), std::string::npos)
      << short_of_one.error().message;
  list.elements = 10;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(find().error().code, ErrorCode::already_exists) << "cut short";
  std::filesystem::resize_file(file, 0);
  EXPECT_EQ(find().error().code, ErrorCode::already_exists) << "emptied";
  EXPECT_TRUE(std::filesystem::exists(file)) << "left alone";
}

TEST(ShardFile, WhoseHeaderIsDamagedIsNotBelieved) {
  const TestFolder folder;
  const ShardStore::Options options{.budget_bytes = 0, .directory = folder.path()};
  const std::string file = folder / "list.0";
  wire::RegionDescriptor list = list_over({kSelf}, 10);
  list.in_files = true;
  ASSERT_TRUE(ShardStore(options).create(list, 0));
  // The segment's header and the shard's shape, a few bytes of each.
  for (const std::uint64_t at : {0U, 8U, 23U, 4096U, 4104U, 4112U, 4136U, 4144U}) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const int before = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(before ^ 0x40));
    bytes.flush();
    const auto damaged = ShardStore(options).create(list, 0);
    ASSERT_FALSE(damaged) << at;
    EXPECT_EQ(damaged.error().code, ErrorCode::already_exists) << at;
    EXPECT_NE(damaged.error().message.find("list.0: "), std::string::npos)
        << damaged.error().message;
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(before));
  }
  EXPECT_TRUE(ShardStore(options).create(list, 0));
}

// A child with a small disk of its own; what is wrong there is its exit status.
int on_a_small_disk(const std::string& path, int (*work)(const std::string&)) {
  constexpr int kNotAllowed = 99;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("none", path.c_str(), "tmpfs", 0, "size=64k") == 0;
    ::_exit(mounted ? work(path) : kNotAllowed);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ShardFile, ThatTheDiskHasNoRoomForIsRefusedAndLeavesNothing) {
  const TestFolder folder;
  const int wrong = on_a_small_disk(folder.path(), [](const std::string& path) {
    ShardStore store({.directory = path});
    wire::RegionDescriptor list = list_over({kSelf}, 100'000);
    list.in_files = true;
    const auto refused = store.create(list, 0);
    if (refused || refused.error().code != ErrorCode::resource_exhausted) return 1;
    if (refused.error().message.find("disk") == std::string::npos) return 2;
    if (!std::filesystem::is_empty(path)) return 3;
    list.elements = 10;  // and room to grow to that the disk does not have
    const auto small = store.create(list, 0);
    if (!small) return 4;
    words(**small)[9] = 9;
    const Status grown = (*small)->grow(100'000);
    if (grown || grown.error().code != ErrorCode::resource_exhausted) return 5;
    if ((*small)->elements() != 10 || words(**small)[9] != 9) return 6;
    std::ofstream(path + "/filler") << std::string(64 * 1024, 'x');
    list = list_over({kOther, kSelf}, 10);
    list.in_files = true;
    const auto none = store.create(list, 1);
    if (none || none.error().code != ErrorCode::resource_exhausted) return 7;
    return std::filesystem::exists(path + "/list.1") ? 8 : 0;
  });
  if (wrong == 99) GTEST_SKIP() << "mounting a small disk needs the rights to";
  EXPECT_EQ(wrong, 0);
}

TEST(ShardFile, NeedsAFolderThatIsThere) {
  wire::RegionDescriptor list = list_over({kSelf}, 10);
  list.in_files = true;
  const auto nowhere = ShardStore({.budget_bytes = kPage}).create(list, 0);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(nowhere.error().message.find("region_dir"), std::string::npos);
  const auto gone = ShardStore({.directory = "/no/such/folder"}).create(list, 0);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::io);
  EXPECT_NE(gone.error().message.find("region_dir"), std::string::npos) << gone.error().message;
  list.name = "../list";
  const TestFolder folder;
  EXPECT_EQ(ShardStore({.directory = folder.path()}).create(list, 0).error().code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace godwit::region
