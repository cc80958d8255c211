#include "ref/arena/arena.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/seeds_for_test.hpp"
#include "ref/arena/size_class.hpp"
#include "ref/arena/slots.hpp"

namespace godwit::ref {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

Extent allocated(Arena& arena, std::size_t bytes, Arena::Wait wait = Arena::Wait::yes) {
  const auto extent = arena.allocate(bytes, wait);
  EXPECT_TRUE(extent) << extent.error().message;
  return extent.value_or(Extent{});
}

std::size_t blocks_bytes(const fabric::Fd& memory) {
  struct stat info{};
  EXPECT_EQ(::fstat(memory.get(), &info), 0);
  return static_cast<std::size_t>(info.st_blocks) * 512;
}

TEST(SizeClasses, AreTheSmallestThatFitAndWasteLittle) {
  const auto check = [](SizeClasses classes, std::size_t most, std::size_t share) {
    std::size_t index = 0;
    for (std::size_t bytes = 1; bytes <= most; bytes += 1 + bytes / 1'000) {
      while (classes.bytes_of(index) < bytes) ++index;
      ASSERT_EQ(classes.index_of(bytes), index) << bytes;
      ASSERT_EQ(classes.bytes_of(index) % classes.unit, 0);
      const std::size_t in_units = (bytes + classes.unit - 1) / classes.unit * classes.unit;
      ASSERT_LE(classes.bytes_of(index) - in_units, bytes / share) << bytes;
    }
  };
  check({.unit = 64, .log2_steps = 2}, Arena::kLargestShared, 4);
  check({.unit = 4096, .log2_steps = 3}, std::size_t{1} << 40, 8);
}

TEST(Slots, HandOutEachOnceAndTakeEachBackOnce) {
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{64}, std::size_t{4'160}, Slots::kMost}) {
    Slots slots(count);
    slots.reset(count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_FALSE(slots.none_free());
      ASSERT_EQ(slots.take(), i);
    }
    ASSERT_TRUE(slots.none_free());
    EXPECT_FALSE(slots.give(count));
    ASSERT_TRUE(slots.give(count - 1));
    EXPECT_FALSE(slots.give(count - 1));
    EXPECT_EQ(slots.take(), count - 1);
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(slots.give(i));
    EXPECT_TRUE(slots.all_free());
  }
}

TEST(Arena, GivesAlignedMemoryWithLittleWaste) {
  Arena arena({.budget_bytes = 64 * kMiB});
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1'000}, 100 * kKiB,
        Arena::kLargestShared, Arena::kLargestShared + 1, 5 * kMiB + 3}) {
    const Extent extent = allocated(arena, bytes);
    ASSERT_TRUE(extent);
    EXPECT_GE(extent.capacity, bytes);
    const std::size_t rounding = bytes <= Arena::kLargestShared ? 64 : 4096;
    EXPECT_LE(extent.capacity, bytes + bytes / 4 + rounding);
    EXPECT_EQ(extent.offset % 64, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(extent.data) % 64, 0);
    std::memset(extent.data, 0xAB, extent.capacity);
    arena.free(extent);
  }
  EXPECT_EQ(arena.use().used_bytes, 0);
  EXPECT_EQ(arena.use().extents, 0);
}

TEST(Arena, ManySizesShareOneSlab) {
  Arena arena({.budget_bytes = 256 * kMiB, .slab_bytes = 16 * kMiB});
  std::vector<Extent> extents;
  for (std::size_t bytes = 64; bytes <= 4 * kKiB; bytes *= 2) {
    for (int i = 0; i < 10; ++i) extents.push_back(allocated(arena, bytes));
  }
  EXPECT_LE(arena.use().held_bytes, 16 * kMiB);
  for (const Extent& extent : extents) arena.free(extent);
}

TEST(Arena, ALargeObjectIsPutWhereOneOfItsSizeWas) {
  Arena arena({.budget_bytes = 256 * kMiB});
  const Extent first = allocated(arena, 10 * kMiB);
  arena.free(first);
  const Extent second = allocated(arena, 10 * kMiB - 700 * kKiB, Arena::Wait::no);
  EXPECT_EQ(second.segment, first.segment);
  EXPECT_EQ(second.data, first.data);
  arena.free(second);
  // One that would waste more than an eighth is not taken.
  const auto small = arena.allocate(8 * kMiB, Arena::Wait::no);
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::would_block);
}

TEST(Arena, WhoMayNotWaitIsToldSoOnlyWhileNothingIsThere) {
  Arena arena({.budget_bytes = 256 * kMiB});
  for (const std::size_t bytes : {kKiB, 10 * kMiB}) {
    const auto refused = arena.allocate(bytes, Arena::Wait::no);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::would_block);
    arena.free(allocated(arena, bytes));
    arena.free(allocated(arena, bytes, Arena::Wait::no));
  }
}

TEST(Arena, BeyondTheBudgetTheErrorSaysHowMuchIsMissing) {
  Arena arena({.budget_bytes = 32 * kMiB});
  const Extent first = allocated(arena, 20 * kMiB);
  for (const auto wait : {Arena::Wait::no, Arena::Wait::yes}) {
    const auto second = arena.allocate(13 * kMiB, wait);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::resource_exhausted);
    for (const char* number : {"13631488", "20971520", "33554432"}) {
      EXPECT_NE(second.error().message.find(number), std::string::npos) << second.error().message;
    }
  }
  EXPECT_EQ(arena.allocate(SIZE_MAX, Arena::Wait::yes).error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(arena.use().held_bytes, 20 * kMiB);
  arena.free(first);
}

TEST(Arena, TheWholeBudgetCanBeOneObject) {
  Arena arena({.budget_bytes = 61 * kMiB});  // no size that objects are rounded to
  const Extent all = allocated(arena, 61 * kMiB);
  EXPECT_EQ(arena.use().held_bytes, arena.budget_bytes());
  arena.free(all);
  arena.free(allocated(arena, 61 * kMiB, Arena::Wait::no));
}

TEST(Arena, ASmallBudgetServesManySizes) {
  Arena arena({.budget_bytes = kMiB});
  std::vector<Extent> extents;
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{500}, 2 * kKiB, 9 * kKiB, 200 * kKiB}) {
    extents.push_back(allocated(arena, bytes));
    ASSERT_TRUE(extents.back());
  }
  for (const Extent& extent : extents) arena.free(extent);
}

TEST(Arena, EmptySegmentsMakeWayForOthers) {
  Arena arena({.budget_bytes = 32 * kMiB});
  arena.free(allocated(arena, 30 * kMiB));
  EXPECT_EQ(arena.use().held_bytes, 30 * kMiB);
  EXPECT_EQ(arena.allocate(10 * kMiB, Arena::Wait::no).error().code, ErrorCode::would_block);
  std::vector<Extent> small;
  while (arena.use().used_bytes < 31 * kMiB) {
    small.push_back(allocated(arena, 64 * kKiB));
    ASSERT_TRUE(small.back());
  }
  EXPECT_LE(arena.use().held_bytes, 32 * kMiB);
  for (const Extent& extent : small) arena.free(extent);
  // Slabs go as well, those too whose last piece a size class keeps.
  arena.free(allocated(arena, 100));
  arena.free(allocated(arena, 32 * kMiB));
}

TEST(Arena, KeepsNoMoreThanItMayAndNothingAfterTrim) {
  Arena arena({.budget_bytes = 256 * kMiB, .keep_bytes = 20 * kMiB});
  std::vector<Extent> extents;
  for (int i = 0; i < 8; ++i) extents.push_back(allocated(arena, 8 * kMiB));
  for (const Extent& extent : extents) arena.free(extent, Arena::Wait::no);
  EXPECT_EQ(arena.use().held_bytes, 64 * kMiB);
  arena.free(allocated(arena, 8 * kMiB));
  EXPECT_EQ(arena.use().held_bytes, 16 * kMiB);
  EXPECT_EQ(arena.use().segments, 2);
  arena.free(allocated(arena, kKiB));
  arena.trim(8 * kMiB);
  EXPECT_LE(arena.use().held_bytes, 8 * kMiB);
  arena.trim(0);
  EXPECT_EQ(arena.use().held_bytes, 0);
  EXPECT_EQ(arena.use().segments, 0);
}

TEST(Arena, KeepsNothingWhereNothingIsToBeKept) {
  Arena arena({.budget_bytes = 256 * kMiB, .keep_bytes = 0});
  for (const std::size_t bytes : {std::size_t{100}, 10 * kMiB}) {
    const Extent extent = allocated(arena, bytes);
    arena.free(extent);
    EXPECT_EQ(arena.use().held_bytes, 0) << bytes;
    EXPECT_EQ(arena.share(extent.segment, fabric::Access::read).error().code, ErrorCode::not_found);
  }
}

TEST(Arena, PeersSeeWhatIsWrittenThroughEitherMapping) {
  Arena arena({.budget_bytes = 64 * kMiB});
  for (const std::size_t bytes : {kKiB, kMiB}) {
    const Extent extent = allocated(arena, bytes);
    const auto to_read = arena.share(extent.segment, fabric::Access::read);
    const auto to_write = arena.share(extent.segment, fabric::Access::write);
    ASSERT_TRUE(to_read && to_write);
    ASSERT_TRUE(fabric::check_memory(to_read->memory.get(), to_read->size));
    const auto reader =
        fabric::map_memory(to_read->memory.get(), to_read->size, fabric::Access::read);
    const auto writer =
        fabric::map_memory(to_write->memory.get(), to_write->size, fabric::Access::write);
    ASSERT_TRUE(reader && writer);
    EXPECT_FALSE(fabric::map_memory(to_read->memory.get(), to_read->size, fabric::Access::write));
    std::memset(extent.data, 7, bytes);
    EXPECT_EQ(reader->data()[extent.offset + bytes - 1], std::byte{7});
    writer->data()[extent.offset] = std::byte{9};
    EXPECT_EQ(extent.data[0], std::byte{9});
    arena.free(extent);
  }
}

TEST(Arena, MemoryThatPeersHaveMappedGoesBackAllTheSame) {
  Arena arena({.budget_bytes = 64 * kMiB});
  const Extent extent = allocated(arena, 4 * kMiB);
  const auto shared = arena.share(extent.segment, fabric::Access::read);
  ASSERT_TRUE(shared);
  const auto mapped = fabric::map_memory(shared->memory.get(), shared->size, fabric::Access::read);
  ASSERT_TRUE(mapped);
  std::memset(extent.data, 1, extent.capacity);
  EXPECT_EQ(blocks_bytes(shared->memory), 4 * kMiB);
  arena.free(extent);
  arena.trim(0);
  EXPECT_EQ(blocks_bytes(shared->memory), 0);
  EXPECT_EQ(mapped->data()[0], std::byte{0});
}

TEST(Arena, EveryPageIsThereBeforeItIsUsed) {
  Arena arena({.budget_bytes = 64 * kMiB});
  for (const std::size_t bytes : {kKiB, 5 * kMiB}) {
    const Extent extent = allocated(arena, bytes);
    const auto shared = arena.share(extent.segment, fabric::Access::read);
    ASSERT_TRUE(shared);
    EXPECT_EQ(blocks_bytes(shared->memory), shared->size);
    arena.free(extent);
  }
}

// What the arena promised to whom: no two of them overlap.
class Model {
 public:
  void add(const Extent& extent) {
    const std::lock_guard lock(mutex_);
    auto& taken = taken_[extent.segment];
    const auto after = taken.lower_bound(extent.offset);
    const std::uint64_t end = extent.offset + extent.capacity;
    EXPECT_TRUE(after == taken.end() || end <= after->first) << "overlaps the next one";
    if (after != taken.begin()) {
      EXPECT_LE(std::prev(after)->second, extent.offset) << "overlaps the one before";
    }
    taken.emplace(extent.offset, end);
  }
  void remove(const Extent& extent) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(taken_[extent.segment].erase(extent.offset), 1);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> taken_;
};

std::size_t random_size(Random& random) {
  const std::uint64_t most = std::uint64_t{1} << (4 + random.below(18));  // to 2 MiB
  return 1 + random.below(most);
}

struct Held {
  Extent extent;
  std::byte mark{};
};

void use_at_random(Arena& arena, Model& model, std::uint64_t seed, std::vector<Held>& held) {
  Random random(seed);
  for (int step = 0; step < 400; ++step) {
    if (random.chance(0.01)) arena.trim(random.below(8 * kMiB));
    if (!held.empty() && random.chance(0.48)) {
      std::swap(held[random.below(held.size())], held.back());
      const auto [extent, mark] = held.back();
      held.pop_back();
      EXPECT_EQ(extent.data[0], mark);
      EXPECT_EQ(std::memcmp(extent.data, extent.data + 1, extent.capacity - 1), 0);
      model.remove(extent);
      arena.free(extent, random.chance(0.5) ? Arena::Wait::yes : Arena::Wait::no);
    } else {
      const std::size_t bytes = random_size(random);
      const auto extent =
          arena.allocate(bytes, random.chance(0.5) ? Arena::Wait::yes : Arena::Wait::no);
      if (!extent) continue;
      model.add(*extent);
      EXPECT_GE(extent->capacity, bytes);
      held.push_back({*extent, static_cast<std::byte>(random.next())});
      std::memset(extent->data, static_cast<int>(held.back().mark), extent->capacity);
    }
    EXPECT_LE(arena.use().held_bytes, arena.budget_bytes());
  }
}

TEST(Arena, ThreadsThatUseItAtRandomNeverShareAByte) {
  for (const std::uint64_t seed : Seeds(1, 4)) {
    Arena arena({.budget_bytes = 48 * kMiB, .slab_bytes = 4 * kMiB, .keep_bytes = 12 * kMiB});
    Model model;
    std::vector<std::vector<Held>> held(3);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < held.size(); ++i) {
      threads.emplace_back([&, i] { use_at_random(arena, model, seed * 100 + i, held[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    Arena::Use expected;
    for (const auto& some : held) {
      for (const Held& one : some) {
        expected.used_bytes += one.extent.capacity;
        ++expected.extents;
      }
    }
    EXPECT_EQ(arena.use().used_bytes, expected.used_bytes);
    EXPECT_EQ(arena.use().extents, expected.extents);
    for (const auto& some : held) {
      for (const Held& one : some) arena.free(one.extent);
    }
    EXPECT_EQ(arena.use().used_bytes, 0);
    arena.trim(0);
    EXPECT_EQ(arena.use().held_bytes, 0);
    EXPECT_EQ(arena.use().segments, 0);
  }
}

TEST(Arena, WhoMayWaitWaitsForMemoryThatOthersGiveBack) {
  // Each thread's object fits only once the other's segment is gone, and it always is by then.
  Arena arena({.budget_bytes = 8 * kMiB, .keep_bytes = 0});
  std::mutex turn;  // one object at a time, but its memory goes outside
  const auto come_and_go = [&](std::size_t bytes) {
    for (int i = 0; i < 50; ++i) {
      Extent extent;
      {
        const std::lock_guard lock(turn);
        extent = allocated(arena, bytes);
        ASSERT_TRUE(extent);
        arena.free(extent, Arena::Wait::no);
      }
      arena.trim(0);
    }
  };
  std::thread other(come_and_go, 6 * kMiB);
  come_and_go(7 * kMiB);
  other.join();
  EXPECT_EQ(arena.use().held_bytes, 0);
}

}  // namespace
}  // namespace godwit::ref
