// Objects that one process resolves again and again: nothing it still has is given out that the
// home would not give.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "node/object_for_test.hpp"

namespace godwit::node {
namespace {

using namespace std::chrono_literals;
using Numbers = std::uint64_t[];

class ObjectReuse : public ObjectFleet {
 protected:
  // As a stranger to whom the handle came.
  Result<Pinned<Numbers>> resolve(const Handle& handle) {
    return good(Ref<Numbers>::from(fleet_, handle)).resolve();
  }
  // Small, mapped for a moment, and mapped while it is used.
  static constexpr std::array<std::size_t, 3> kSizes{10, 10'000, 100'000};
};

TEST_P(ObjectReuse, WhatAnotherProcessEvictsIsGoneAtOnce) {
  const Fleet other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  for (const std::size_t size : kSizes) {
    const auto ref = good(fleet_.node(0).put(numbers(size)));
    std::vector<Pinned<Numbers>> kept;
    for (int i = 0; i < 5; ++i) {
      kept.push_back(good(resolve(ref.handle())));
      EXPECT_EQ(kept.back()->back(), size + 6);
    }
    good(good(Ref<Numbers>::from(other, ref.handle())).evict());
    expect_error(resolve(ref.handle()), ErrorCode::not_found);
    EXPECT_EQ(kept.front()->back(), size + 6) << "what was read stays";
  }
}

TEST_P(ObjectReuse, ALargeOneThatIsResolvedAgainAndAgainIsNotAskedForEachTime) {
  constexpr std::uint64_t kTimes = 200;
  const auto ref = good(fleet_.node(0).put(numbers(100'000)));
  for (std::uint64_t i = 0; i < kTimes; ++i)
    EXPECT_EQ(good(resolve(ref.handle()))->back(), 100'006);
  const std::uint64_t reads = good(ref.status()).reads;
  if (GetParam() == LocalTransport::shm) {
    EXPECT_LT(reads, kTimes / 2);  // asked anew where this process had no turn for a moment
  } else {
    EXPECT_EQ(reads, kTimes);
  }
  good(ref.evict());
  EXPECT_TRUE(eventually([&] {
    return status_of(fleet_, fleet_.node(0))["objects"]["used_bytes"].count() == 0;
  })) << "it is not kept for long";
}

TEST_P(ObjectReuse, ALeaseEndsOnTimeAlsoIfItWasMadeShorter) {
  for (const std::size_t size : kSizes) {
    const auto began = std::chrono::steady_clock::now();
    const auto ref = good(fleet_.node(0).put(numbers(size), {.lifetime = Lifetime::lease(1h)}));
    for (int i = 0; i < 5; ++i) good(resolve(ref.handle()));
    good(ref.set_lifetime(Lifetime::lease(300ms)));
    for (int i = 0; i < 5; ++i) good(resolve(ref.handle()));
    EXPECT_TRUE(eventually([&] { return !resolve(ref.handle()); }));
    EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
  }
}

TEST_P(ObjectReuse, ANewVersionIsSeenByThoseWhoAskForIt) {
  const auto ref = good(fleet_.node(0).put(numbers(10)));
  for (int i = 0; i < 5; ++i) good(resolve(ref.handle()));
  const auto next = good(ref.update(numbers(20)));
  EXPECT_EQ(good(resolve(next.handle()))->size(), 20);
  expect_error(resolve(ref.handle()), ErrorCode::stale);
}

TEST_P(ObjectReuse, AChangedHandleGainsNothing) {
  const auto ref = good(fleet_.node(0).put(numbers(10)));
  for (int i = 0; i < 5; ++i) good(resolve(ref.handle()));
  Handle forged = ref.handle();
  forged.mac ^= 1;
  expect_error(resolve(forged), ErrorCode::permission);
}

TEST_P(ObjectReuse, AHomeThatDiedIsSaidToBeLostOfSmallOnesToo) {
  const auto node = fleet_.node(1);
  const auto ref = good(node.put(numbers(10)));
  for (int i = 0; i < 5; ++i) good(resolve(ref.handle()));
  good(fleet_.kill(node));
  EXPECT_FALSE(resolve(ref.handle()));
  good(fleet_.restart(node));
}

// On one host a small object that its home has vouched for is found without a question, by
// processes that never asked for it.
TEST_P(ObjectReuse, WhatOneProcessPutsAnotherFindsWithoutAsking) {
  const Fleet other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  const auto first_of_other = [&](const Handle& handle) {
    return good(Ref<Numbers>::from(other, handle)).resolve();
  };
  // Each has asked the home before, and so looks at what it shows.
  for (int i = 0; i < 3; ++i) {
    good(fleet_.node(0).put(numbers(10)));
    good(first_of_other(good(fleet_.node(0).put(numbers(10))).handle()));
  }
  for (const std::size_t size : {std::size_t{10}, std::size_t{2'000}, std::size_t{2'048}}) {
    const auto ref = good(fleet_.node(0).put(numbers(size)));
    EXPECT_EQ(good(first_of_other(ref.handle()))->back(), size + 6);
    EXPECT_EQ(good(ref.status()).reads, GetParam() == LocalTransport::shm ? 0U : 1U);
    const auto kept = good(first_of_other(ref.handle()));
    if (GetParam() == LocalTransport::shm) {
      EXPECT_EQ(good(first_of_other(ref.handle()))->data(), kept->data()) << "not copied again";
    }
    const auto next = good(ref.update(numbers(size + 1)));
    expect_error(first_of_other(ref.handle()), ErrorCode::stale);
    EXPECT_EQ(good(first_of_other(next.handle()))->back(), size + 7);
    EXPECT_EQ(kept->back(), size + 6) << "what was read stays";
    good(next.evict());
    expect_error(first_of_other(next.handle()), ErrorCode::not_found);
  }
  const auto once = good(fleet_.node(0).put(numbers(10), {.lifetime = Lifetime::readers(1)}));
  good(first_of_other(once.handle()));
  EXPECT_TRUE(eventually([&] { return !good(once.exists()); })) << "its readers are counted";
  const auto counted = good(fleet_.node(0).put(numbers(10)));
  good(counted.set_lifetime(Lifetime::readers(1)));
  good(first_of_other(counted.handle()));
  EXPECT_TRUE(eventually([&] { return !good(counted.exists()); })) << "from then on, too";
}

TEST_P(ObjectReuse, ExplainSaysThatASmallObjectIsCopiedFromWhereItIsShown) {
  const Fleet other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  const bool shm = GetParam() == LocalTransport::shm;
  for (int i = 0; i < 3; ++i) {
    const auto ref = good(fleet_.node(0).put(numbers(10)));
    const auto there = good(Ref<Numbers>::from(other, ref.handle()));
    const bool is_shown = shm && i == 2;  // to who has asked twice
    EXPECT_EQ(good(there.explain()).chosen, is_shown ? "copy" : "message");
    EXPECT_EQ(to_string(good(there.resolve()).how()), is_shown ? "copy" : "message");
  }
}

// Memory that was shown is soon another object's: what is read is one or the other, and never the
// wrong one.
TEST_P(ObjectReuse, MemoryThatIsUsedAgainIsNotTakenForTheObjectThatWasThere) {
  const Fleet other = good(Fleet::join(fleet_.describe().front().addresses.front()));
  constexpr std::size_t kSize = 128;
  // Over tcp nothing is shown, and every put and evict is waited for.
  const std::uint64_t puts = GetParam() == LocalTransport::shm ? 20'000 : 1'000;
  std::atomic<bool> done{false};
  std::mutex mutex;
  Handle newest = good(fleet_.node(0).put(std::vector<std::uint64_t>(kSize, 0))).handle();
  std::atomic<std::uint64_t> number{0};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i < puts && !done; ++i) {
      const auto ref = good(fleet_.node(0).put(std::vector<std::uint64_t>(kSize, i)));
      Handle old;
      {
        const std::lock_guard lock(mutex);
        old = std::exchange(newest, ref.handle());
        number = i;
      }
      good(good(Ref<Numbers>::from(fleet_, old)).evict());
    }
    done = true;
  });
  std::size_t wrong = 0;
  std::size_t read = 0;
  std::size_t copied = 0;
  while (!done) {
    Handle handle;
    std::uint64_t value = 0;
    {
      const std::lock_guard lock(mutex);
      handle = newest;
      value = number;
    }
    const auto object = good(Ref<Numbers>::from(other, handle)).resolve();
    if (!object) continue;
    ++read;
    if (object->how() == ResolvedBy::copy) ++copied;
    const auto is_it = [value](std::uint64_t one) { return one == value; };
    if (!std::ranges::all_of(**object, is_it)) ++wrong;
  }
  writer.join();
  EXPECT_GT(read, 0U);
  EXPECT_EQ(copied > 0, GetParam() == LocalTransport::shm);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(ObjectReuse, NobodyResolvesAfterTheEvictWhateverThreadsDo) {
  constexpr std::size_t kObjects = 200;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < kObjects; ++i) {
    handles.push_back(good(fleet_.node(0).put(numbers(10 + i % 3 * 1000))).handle());
  }
  std::vector<std::atomic<bool>> evicted(kObjects);
  std::atomic<std::size_t> late{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (std::size_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      for (std::size_t i = reader; !done; ++i) {
        const bool before = evicted[i % kObjects];
        const auto object = resolve(handles[i % kObjects]);
        if (before && object) ++late;
      }
    });
  }
  for (std::size_t i = 0; i < kObjects; ++i) {
    good(good(Ref<Numbers>::from(fleet_, handles[i])).evict());
    evicted[i] = true;
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(late, 0);
}

INSTANTIATE_TEST_SUITE_P(Fleets, ObjectReuse,
                         testing::Values(LocalTransport::shm, LocalTransport::tcp), transport_name);

}  // namespace
}  // namespace godwit::node
