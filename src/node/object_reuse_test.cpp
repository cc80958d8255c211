// Objects that one process resolves again and again: nothing it still has is given out that the
// home would not give.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
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
