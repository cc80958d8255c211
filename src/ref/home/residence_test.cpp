// Objects that memory has no room for.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.hpp"
#include "ref/home/disk_store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;

class Residence : public DiskStoreTest {
 protected:
  std::vector<Handle> put_large(std::size_t count) {
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < count; ++i) handles.push_back(put(text_of_seed(kLarge, i)));
    return handles;
  }
  void expect_intact(const std::vector<Handle>& handles) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const auto text = read(handles[i]);
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_TRUE(*text == text_of_seed(kLarge, i)) << i;
    }
  }
};

TEST_F(Residence, WhatMemoryHasNoRoomForGoesToDiskAndComesBackIntact) {
  const auto handles = put_large(20);
  EXPECT_TRUE(spilled(handles.front()));
  EXPECT_FALSE(spilled(handles.back()));
  EXPECT_FALSE(store->describe(handles.front())->persistent);
  EXPECT_GE(store->stats().spills, 14);
  EXPECT_GT(store->stats().disk_bytes, 14 * kLarge);
  expect_intact(handles);
  expect_intact(handles);
  EXPECT_LE(store->arena().use().held_bytes, kBudget);
  for (const Handle& handle : handles) EXPECT_TRUE(store->evict(handle));
  EXPECT_EQ(store->arena().use().used_bytes, 0);
  EXPECT_EQ(store->stats().disk_bytes, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(Residence, ManySmallObjectsGoToDiskAndComeBack) {
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < 2'300; ++i) handles.push_back(put(text_of_seed(2'000, i)));
  EXPECT_TRUE(spilled(handles.front()));
  for (std::size_t i = 0; i < handles.size(); i += 5) {
    ASSERT_TRUE(read(handles[i]).value() == text_of_seed(2'000, i));
  }
  put_large(2);
}

TEST_F(Residence, MemoryIsShownWhileItIsTheObjectsAndNoLonger) {
  const auto shared = currency->share().value();
  const HomeCurrency peer = HomeCurrency::open(shared.words, shared.life).value();
  const Handle small = put("hello");
  EXPECT_FALSE(peer.find(small)) << "nobody has asked for a voucher";
  ASSERT_NE(store->vouch_for(small).ticket, 0);
  const auto shown = peer.find(small);
  ASSERT_TRUE(shown);
  const Located found = store->locate(kAlice, small, kWait).value();
  EXPECT_EQ(shown->segment, found.segment);
  EXPECT_EQ(shown->offset, found.offset);
  store->release(kAlice, found.pin);

  put_large(10);
  ASSERT_TRUE(spilled(small));
  EXPECT_FALSE(peer.find(small));
  EXPECT_FALSE(peer.holds(shown->ticket));
  EXPECT_NE(store->vouch_for(small).ticket, 0);
  EXPECT_FALSE(peer.find(small)) << "it is on disk";
  ASSERT_TRUE(read(small));
  EXPECT_NE(store->vouch_for(small).ticket, 0);
  EXPECT_TRUE(peer.find(small)) << "it is back";
  ASSERT_TRUE(store->evict(small));
  EXPECT_FALSE(peer.find(small));

  const Handle large = put(text_of_seed(Currency::kMaxShownBytes + 1, 1));
  EXPECT_NE(store->vouch_for(large).ticket, 0);
  EXPECT_FALSE(peer.find(large)) << "it is mapped, which takes a pin";
  const Handle leased = put("leased", {.lifetime = {.kind = LifetimeKind::lease, .lease = 1h}});
  EXPECT_NE(store->vouch_for(leased).ticket, 0);
  EXPECT_FALSE(peer.find(leased)) << "it ends without a word";
}

TEST_F(Residence, TheLongestUnusedGoFirst) {
  const auto handles = put_large(6);
  ASSERT_FALSE(spilled(handles[0]));
  ASSERT_TRUE(read(handles[0]));
  put(text_of_seed(kLarge, 6));
  EXPECT_FALSE(spilled(handles[0]));
  EXPECT_TRUE(spilled(handles[1]));
  EXPECT_FALSE(spilled(handles[2]));
}

TEST_F(Residence, WhatSomebodyHasPinnedStays) {
  const auto handles = put_large(6);
  const Located held = store->locate(kAlice, handles[0], kWait).value();
  ASSERT_TRUE(store->set_pinned(handles[1], true));
  put_large(10);
  EXPECT_FALSE(spilled(handles[0]));
  EXPECT_FALSE(spilled(handles[1]));
  EXPECT_TRUE(spilled(handles[2]));
  EXPECT_TRUE(text_of({held.data, kLarge}) == text_of_seed(kLarge, 0));
  store->release(kAlice, held.pin);
  ASSERT_TRUE(store->set_pinned(handles[1], false));
  put_large(8);
  EXPECT_TRUE(spilled(handles[0]));
  EXPECT_TRUE(spilled(handles[1]));
}

TEST_F(Residence, MemoryThatIsAllInUseIsRefusedAndNothingIsWrittenInVain) {
  const auto handles = put_large(6);
  for (const Handle& handle : handles) ASSERT_TRUE(store->set_pinned(handle, true));
  const auto refused = try_put(text_of_seed(kLarge, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find("budget of 4194304"), std::string::npos);
  EXPECT_EQ(code_of(try_put(text_of_seed(2 * kBudget, 1))), ErrorCode::resource_exhausted);
  EXPECT_TRUE(files().empty());
}

TEST_F(Residence, CallersThatMayNotWaitAreToldToAskAgain) {
  const auto handles = put_large(7);
  ASSERT_TRUE(spilled(handles[0]));
  EXPECT_EQ(code_of(try_put(text_of_seed(kLarge, 9), {}, kNoWait)), ErrorCode::would_block);
  EXPECT_EQ(code_of(store->reserve(kAlice, kLarge, kNoWait)), ErrorCode::would_block);
  EXPECT_EQ(code_of(read(handles[0], kNoWait)), ErrorCode::would_block);
  EXPECT_TRUE(store->exists(handles[0]));
  EXPECT_TRUE(read(handles[0]));
  EXPECT_TRUE(read(handles[0], kNoWait).value() == text_of_seed(kLarge, 0));
}

TEST_F(Residence, AVersionThatIsOnDiskAlreadyIsNotWrittenAgain) {
  const auto handles = put_large(7);
  ASSERT_TRUE(read(handles[0]));
  const auto written = std::filesystem::last_write_time(file_of(handles[0]));
  put_large(8);
  EXPECT_TRUE(spilled(handles[0]));
  EXPECT_EQ(std::filesystem::last_write_time(file_of(handles[0])), written);
}

TEST_F(Residence, FilesGoWithTheirObjects) {
  const Handle leased =
      put(text_of_seed(kLarge, 0), {.lifetime = {.kind = LifetimeKind::lease, .lease = 1s}});
  const auto handles = put_large(8);
  ASSERT_TRUE(std::filesystem::exists(file_of(leased)));
  ASSERT_TRUE(std::filesystem::exists(file_of(handles[0])));
  clock.advance(2s);
  store->sweep();
  EXPECT_EQ(removals_asked, 1);
  EXPECT_TRUE(std::filesystem::exists(file_of(leased))) << "a sweep does not wait for disks";
  store->remove_files();
  EXPECT_FALSE(std::filesystem::exists(file_of(leased)));
  EXPECT_TRUE(store->evict(handles[0]));
  EXPECT_FALSE(std::filesystem::exists(file_of(handles[0])));
  EXPECT_FALSE(files().empty());
  store.reset();
  EXPECT_TRUE(files().empty());
}

TEST_F(Residence, AnUpdateReplacesWhatIsOnDisk) {
  const auto handles = put_large(8);
  ASSERT_TRUE(spilled(handles[0]));
  const Handle next = store->update(kAlice, handles[0], reserve("short")).value();
  EXPECT_FALSE(std::filesystem::exists(file_of(handles[0])));
  EXPECT_EQ(read(next).value(), "short");
  EXPECT_EQ(code_of(read(handles[0])), ErrorCode::stale);
}

TEST_F(Residence, ABudgetOfFilesThatIsUsedUpIsNamedAndNothingIsLost) {
  store.reset();
  start(3 * kLarge);
  std::vector<Handle> handles;
  for (;;) {
    auto made = try_put(text_of_seed(kLarge, handles.size()));
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::resource_exhausted);
      EXPECT_NE(made.error().message.find("budget of 4194304"), std::string::npos);
      EXPECT_NE(made.error().message.find(path()), std::string::npos) << made.error().message;
      break;
    }
    handles.push_back(*made);
    ASSERT_LT(handles.size(), 12U);
  }
  EXPECT_GE(handles.size(), 8U);
  EXPECT_EQ(code_of(read(handles[0])), ErrorCode::resource_exhausted)
      << "nothing can take its place";
  EXPECT_TRUE(store->evict(handles.back()));
  handles.pop_back();
  expect_intact(handles);
}

TEST_F(Residence, AFullDiskIsNamedAndNothingIsLost) {
  const auto handles = put_large(6);
  Result<Handle> refused;
  {
    const FullDisk full;
    refused = try_put(text_of_seed(kLarge, 6));
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find(path()), std::string::npos) << refused.error().message;
  EXPECT_TRUE(files().empty());
  expect_intact(handles);
  EXPECT_TRUE(try_put(text_of_seed(kLarge, 6)));
}

TEST_F(Residence, ADamagedFileIsAnErrorThatIsRememberedForAWhile) {
  const auto handles = put_large(8);
  damage(file_of(handles[0]), 300'000);
  for (int i = 0; i < 2; ++i) {
    const auto text = read(handles[0]);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::bad_format);
    EXPECT_NE(text.error().message.find(file_of(handles[0])), std::string::npos);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(file_of(handles[0]) + ".1.broken")) << warnings[0];
  EXPECT_FALSE(store->exists(handles[0]));
  clock.advance(61s);
  EXPECT_EQ(code_of(read(handles[0])), ErrorCode::not_found);
}

// Twice what fits is read, changed and ended by several threads at the same time.
class SpillingCrowd {
 public:
  explicit SpillingCrowd(ObjectStore& store) : store_(store) {}

  void work(std::size_t number, Random random, int steps) {
    const Holder holder{.node = {number + 1}, .epoch = {1}};
    for (int step = 0; step < steps; ++step) {
      Slot& slot = slots_[random.below(kSlots)];
      Handle handle;
      {
        const std::lock_guard lock(slot.mutex);
        handle = slot.handle;
      }
      const std::uint64_t what = random.below(10);
      const auto wait = random.below(4) == 0 ? kNoWait : kWait;
      if (handle.version == 0 || what == 0) {
        put(holder, slot, random.below(2) == 0 ? 150'000 : 3'000, wait);
      } else if (what == 1) {
        expect_one_of(store_.evict(handle, wait), {ErrorCode::would_block});
      } else if (what == 2) {
        update(holder, slot, handle);
      } else {
        read(holder, handle, wait);
      }
    }
    store_.leave(holder);
  }
  [[nodiscard]] std::uint64_t reads() const { return reads_; }

 private:
  static constexpr std::size_t kSlots = 64;
  struct Slot {
    std::mutex mutex;
    Handle handle;
  };

  template <class R>
  static void expect_one_of(const R& result, std::initializer_list<ErrorCode> codes) {
    if (result) return;
    EXPECT_NE(std::find(codes.begin(), codes.end(), result.error().code), codes.end())
        << to_string(result.error().code) << ": " << result.error().message;
  }
  std::string filled(std::size_t size) {
    return std::string(size, static_cast<char>('a' + kinds_++ % 26));
  }
  void put(Holder holder, Slot& slot, std::size_t size, Arena::Wait wait) {
    const std::string text = filled(size);
    const Bytes part = bytes_of(text);
    const NewObject object{.persist = kinds_ % 7 == 0};
    const auto made = store_.put(holder, object, {&part, 1}, wait);
    expect_one_of(made, {ErrorCode::would_block, ErrorCode::resource_exhausted});
    if (!made) return;
    Handle before;
    {
      const std::lock_guard lock(slot.mutex);
      before = std::exchange(slot.handle, *made);
    }
    if (before.version != 0) {
      EXPECT_TRUE(store_.evict(before));
    }
  }
  void update(Holder holder, Slot& slot, const Handle& handle) {
    const std::string text = filled(50'000);
    const auto room = store_.reserve(holder, text.size(), kWait);
    expect_one_of(room, {ErrorCode::resource_exhausted});
    if (!room) return;
    EXPECT_TRUE(store_.write(holder, room->ticket, 0, bytes_of(text)));
    const auto made = store_.update(holder, handle, room->ticket, kWait);
    expect_one_of(made, {ErrorCode::stale, ErrorCode::not_found});
    if (!made) return store_.abandon(holder, room->ticket);
    const std::lock_guard lock(slot.mutex);
    if (slot.handle == handle) slot.handle = *made;
  }
  void read(Holder holder, const Handle& handle, Arena::Wait wait) {
    const auto found = store_.locate(holder, handle, wait);
    expect_one_of(found, {ErrorCode::would_block, ErrorCode::stale, ErrorCode::not_found,
                          ErrorCode::resource_exhausted});
    if (!found) return;
    const auto* first = reinterpret_cast<const char*>(found->data);
    EXPECT_EQ(std::count(first, first + found->size, *first),
              static_cast<std::ptrdiff_t>(found->size));
    ++reads_;
    store_.release(holder, found->pin);
  }

  ObjectStore& store_;
  Slot slots_[kSlots];
  std::atomic<unsigned> kinds_{0};
  std::atomic<std::uint64_t> reads_{0};
};

TEST_F(Residence, ThreadsThatMoveObjectsAtTheSameTimeSeeThemWhole) {
  {
    SpillingCrowd crowd(*store);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { crowd.work(i, Random(i + 1), 1'000); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(crowd.reads(), 100U);
  }
  EXPECT_GT(store->stats().spills, 0U);
  EXPECT_GT(store->stats().loads, 0U);
  EXPECT_EQ(store->stats().pins, 0U);
  for (const ObjectDescription& object : store->list(SIZE_MAX, Rights::all)) {
    EXPECT_EQ(object.pins, 0U);
    const auto text = read(object.handle);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(std::count(text->begin(), text->end(), text->front()),
              static_cast<std::ptrdiff_t>(text->size()));
    EXPECT_TRUE(store->evict(object.handle));
  }
  store->remove_files();
  EXPECT_EQ(store->stats().objects, 0U);
  EXPECT_EQ(store->arena().use().used_bytes, 0U);
  EXPECT_EQ(store->stats().disk_bytes, 0U);
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Residence, AnObjectThatSeveralThreadsWaitForIsReadFromDiskOnce) {
  const auto handles = put_large(12);
  ASSERT_TRUE(spilled(handles[0]));
  const std::uint64_t before = store->stats().loads;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Holder holder{.node = {i + 10}, .epoch = {1}};
      ++ready;
      while (ready < 4) std::this_thread::yield();
      const auto found = store->locate(holder, handles[0], kWait);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_TRUE(text_of({found->data, kLarge}) == text_of_seed(kLarge, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->stats().loads, before + 1);
}

}  // namespace
}  // namespace godwit::ref
