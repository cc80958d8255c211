// Objects that outlive their home's process.
#include <gtest/gtest.h>

#include <thread>

#include "ref/home/disk_store_for_test.hpp"

namespace godwit::ref {
namespace {

using namespace std::chrono_literals;

constexpr NewObject kPersist{.type = 77, .persist = true};

class Persistence : public DiskStoreTest {
 protected:
  static NewObject leased(Duration lease) {
    return {.lifetime = {.kind = LifetimeKind::lease, .lease = lease}, .persist = true};
  }
};

TEST_F(Persistence, APersistentObjectIsThereAtTheNextStartUnderTheSameHandle) {
  const std::string texts[] = {"", "short", text_of_seed(1'000'000, 3)};
  std::vector<Handle> handles;
  for (const std::string& text : texts) handles.push_back(put(text, kPersist));
  const Handle passing = put("passing");
  EXPECT_TRUE(store->describe(handles[1])->persistent);
  EXPECT_FALSE(store->describe(passing)->persistent);
  for (int start = 0; start < 2; ++start) {
    restart(1h);
    EXPECT_EQ(store->stats().objects, std::size(texts));
    EXPECT_EQ(store->arena().use().used_bytes, 0) << "nothing is read before it is asked for";
    EXPECT_TRUE(spilled(handles[1]));
    EXPECT_EQ(code_of(read(handles[1], kNoWait)), ErrorCode::would_block);
    for (std::size_t i = 0; i < handles.size(); ++i) {
      EXPECT_EQ(store->describe(handles[i])->handle, handles[i]);
      EXPECT_EQ(store->describe(handles[i])->age, (start + 1) * Duration(1h));
      EXPECT_TRUE(read(handles[i]).value() == texts[i]);
      EXPECT_TRUE(read(handles[i], kNoWait).value() == texts[i]);
    }
    EXPECT_EQ(code_of(read(passing)), ErrorCode::not_found);
  }
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Persistence, TakesAFolderAndALifetimeOfItsOwn) {
  EXPECT_EQ(code_of(try_put("x", {.owned = true, .persist = true})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(try_put("x", {.lifetime = {.kind = LifetimeKind::holder}, .persist = true})),
            ErrorCode::invalid_argument);
  const Handle handle = put("x", kPersist);
  EXPECT_EQ(code_of(store->set_lifetime(handle, {.kind = LifetimeKind::holder}, kAlice)),
            ErrorCode::invalid_argument);
  ObjectStore in_memory(clock, options_for_test());
  const auto refused = in_memory.put(kAlice, kPersist, {}, kWait);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("object_dir"), std::string::npos);
}

TEST_F(Persistence, CallersThatMayNotWaitAreToldToAskAgain) {
  EXPECT_EQ(code_of(try_put("x", kPersist, kNoWait)), ErrorCode::would_block);
  const std::uint64_t ticket = reserve("by reservation");
  EXPECT_EQ(code_of(store->commit(kAlice, ticket, kPersist, kNoWait)), ErrorCode::would_block);
  const Handle first = store->commit(kAlice, ticket, kPersist, kWait).value();
  const std::uint64_t next = reserve("next");
  EXPECT_EQ(code_of(store->update(kAlice, first, next, kNoWait)), ErrorCode::would_block);
  const Handle second = store->update(kAlice, first, next, kWait).value();
  const Lifetime lease{.kind = LifetimeKind::lease, .lease = 1h};
  EXPECT_EQ(code_of(store->set_lifetime(second, lease, kAlice, kNoWait)), ErrorCode::would_block);
  EXPECT_EQ(code_of(store->evict(second, kNoWait)), ErrorCode::would_block);
  EXPECT_EQ(read(second).value(), "next");
}

TEST_F(Persistence, WhatIsEvictedOrOverDoesNotComeBack) {
  const Handle evicted = put("evicted", kPersist);
  const Handle over = put("over", leased(1s));
  const Handle read_once = put(
      "read once", {.lifetime = {.kind = LifetimeKind::readers, .readers = 1}, .persist = true});
  EXPECT_EQ(files().size(), 3U);
  EXPECT_TRUE(store->evict(evicted));
  EXPECT_EQ(files().size(), 2U) << "at once";
  clock.advance(2s);
  store->sweep();
  EXPECT_EQ(read(read_once).value(), "read once");
  EXPECT_GT(removals_asked, 0);
  store->remove_files();
  EXPECT_TRUE(files().empty());
  restart();
  EXPECT_EQ(store->stats().objects, 0U);
  EXPECT_EQ(code_of(read(over)), ErrorCode::not_found);
}

TEST_F(Persistence, ALeaseRunsOnWhileNobodyServes) {
  const Handle handle = put("leased", leased(10s));
  restart(4s);
  EXPECT_EQ(store->describe(handle)->time_left, Duration(6s));
  const Lifetime longer{.kind = LifetimeKind::lease, .lease = 100s};
  ASSERT_TRUE(store->set_lifetime(handle, longer, kAlice));
  restart(30s);
  EXPECT_EQ(store->describe(handle)->time_left, Duration(70s));
  const Handle next = store->update(kAlice, handle, reserve("next")).value();
  restart(30s);
  EXPECT_EQ(store->describe(next)->time_left, Duration(40s));
  wall_ns -= Duration(1h).count();
  restart();
  EXPECT_EQ(store->describe(next)->time_left, Duration(70s))
      << "a clock set back makes it no longer than it was";
  wall_ns += Duration(1h).count();
  restart(41s);
  EXPECT_EQ(code_of(read(next)), ErrorCode::not_found);
  EXPECT_TRUE(files().empty());
}

TEST_F(Persistence, OnlyTheNewestVersionIsKept) {
  const Handle first = put("first", kPersist);
  const Located held = store->locate(kAlice, first, kWait).value();
  const std::string file = file_of(first);
  const std::string copy = path() + "/copy";
  std::filesystem::copy_file(file, copy);
  const Handle second = store->update(kAlice, first, reserve("second")).value();
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(text_of({held.data, 5}), "first") << "its readers keep it";
  store->release(kAlice, held.pin);
  restart();
  EXPECT_EQ(read(second).value(), "second");
  EXPECT_EQ(code_of(read(first)), ErrorCode::stale);
  // As if the home was killed before it could remove the older file.
  std::filesystem::rename(copy, file);
  restart();
  EXPECT_EQ(files().size(), 1U);
  EXPECT_EQ(read(second).value(), "second");
  EXPECT_EQ(code_of(read(first)), ErrorCode::stale);
}

TEST_F(Persistence, APromiseIsKeptInAFileOnceItIsFulfilled) {
  const Handle promised = store->promise(kAlice, leased(10s), 0s).value();
  EXPECT_TRUE(files().empty());
  clock.advance(5s);
  const std::uint64_t ticket = reserve("at last");
  EXPECT_EQ(code_of(store->fulfil(kAlice, promised, ticket, kNoWait)), ErrorCode::would_block);
  ASSERT_TRUE(store->fulfil(kAlice, promised, ticket, kWait));
  EXPECT_EQ(code_of(store->fulfil(kAlice, promised, reserve("again"), kWait)),
            ErrorCode::already_exists);
  EXPECT_EQ(files().size(), 1U);
  restart(2s);
  EXPECT_EQ(read(promised).value(), "at last");
  EXPECT_EQ(store->describe(promised)->time_left, Duration(8s));
}

TEST_F(Persistence, AnUpdateThatIsRefusedLeavesNoFile) {
  const Handle first = put("first", kPersist);
  const std::uint64_t borrow =
      store->borrow({.node = {2}, .epoch = {1}}, first, ObjectStore::BorrowKind::read).value();
  EXPECT_EQ(code_of(store->update(kAlice, first, reserve("second"))), ErrorCode::borrowed);
  EXPECT_EQ(files().size(), 1U);
  store->give_back({.node = {2}, .epoch = {1}}, borrow);
  EXPECT_TRUE(store->update(kAlice, first, reserve("second")));
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(Persistence, WithoutRoomOnTheDiskNothingIsPut) {
  const Handle first = put("first", kPersist);
  // Memory first, which the limit is on, too.
  const std::string large = text_of_seed(kLarge, 1);
  const std::uint64_t tickets[] = {reserve(large), reserve(large)};
  Result<Handle> refused;
  Result<Handle> not_updated;
  {
    const FullDisk full;
    refused = store->commit(kAlice, tickets[0], kPersist);
    not_updated = store->update(kAlice, first, tickets[1]);
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(refused.error().message.find(path()), std::string::npos) << refused.error().message;
  EXPECT_EQ(code_of(not_updated), ErrorCode::resource_exhausted);
  EXPECT_EQ(store->stats().objects, 1U);
  EXPECT_EQ(files().size(), 1U);
  EXPECT_TRUE(store->update(kAlice, first, reserve("second"))) << "and it is tried again";
}

TEST_F(Persistence, DamagedFilesAreSetAsideAndToldOf) {
  const Handle head = put("damaged in the head", kPersist);
  const Handle data = put("damaged in the data", kPersist);
  const Handle good = put("good", kPersist);
  store.reset();
  damage(file_of(head), 20);
  damage(file_of(data), ObjectHead::kSize + 3);
  start();
  ASSERT_EQ(warnings.size(), 1U) << "heads are looked at when a node starts";
  EXPECT_EQ(code_of(read(head)), ErrorCode::not_found);
  EXPECT_EQ(code_of(read(data)), ErrorCode::bad_format);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[1].find(".1.broken"), std::string::npos) << warnings[1];
  EXPECT_EQ(read(good).value(), "good");
  restart();
  EXPECT_EQ(warnings.size(), 2U);
  EXPECT_EQ(code_of(read(data)), ErrorCode::not_found);
}

TEST_F(Persistence, ObjectsOfAnotherKeyAreSetAside) {
  const Handle handle = put("signed by a key that is gone", kPersist);
  store.reset();
  std::filesystem::remove(path() + "/handle.key");
  start();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(store->stats().objects, 0U);
  EXPECT_TRUE(std::filesystem::exists(file_of(handle) + ".1.broken"));
  EXPECT_EQ(store->stats().disk_bytes, 0U);
}

TEST_F(Persistence, ObjectsInFilesGiveTheirMemoryToOthersAndAreNotWrittenAgain) {
  const Handle first = put(text_of_seed(kLarge, 0), kPersist);
  const auto written = std::filesystem::last_write_time(file_of(first));
  for (int i = 0; i < 8; ++i) put(text_of_seed(kLarge, 1));
  EXPECT_TRUE(spilled(first));
  EXPECT_EQ(std::filesystem::last_write_time(file_of(first)), written);
  restart();
  EXPECT_TRUE(read(first).value() == text_of_seed(kLarge, 0)) << "what was spilled persists still";
}

TEST_F(Persistence, OfThreadsThatPublishTheSameVersionOneDoes) {
  Handle handle = put("0", kPersist);
  for (int round = 1; round <= 20; ++round) {
    std::vector<Result<Handle>> made(3);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < made.size(); ++i) {
      threads.emplace_back([&, i] {
        const Holder holder{.node = {i + 10}, .epoch = {1}};
        const std::string text = std::to_string(round) + " by " + std::to_string(i);
        const auto room = store->reserve(holder, text.size(), kWait).value();
        ASSERT_TRUE(store->write(holder, room.ticket, 0, bytes_of(text)));
        made[i] = store->update(holder, handle, room.ticket);
        if (!made[i]) store->abandon(holder, room.ticket);
      });
    }
    for (std::thread& thread : threads) thread.join();
    Handle next;
    std::size_t winner = made.size();
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i]) {
        EXPECT_EQ(made[i].error().code, ErrorCode::stale) << made[i].error().message;
        continue;
      }
      EXPECT_EQ(winner, made.size()) << "two have published one version";
      winner = i;
      next = *made[i];
    }
    ASSERT_LT(winner, made.size());
    handle = next;
    EXPECT_EQ(files().size(), 1U);
    if (round % 10 == 0) restart();
    EXPECT_EQ(read(handle).value(), std::to_string(round) + " by " + std::to_string(winner));
  }
}

}  // namespace
}  // namespace godwit::ref
