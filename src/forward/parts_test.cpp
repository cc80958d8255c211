// The parts of a port by themselves: pool, mailbox, spill file, workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "forward/chunk_pool.hpp"
#include "forward/mailbox.hpp"
#include "forward/spill_file.hpp"
#include "forward/worker_team.hpp"

namespace godwit::forward {
namespace {

using Pool = std::unique_ptr<ChunkPool, ChunkPool::Retire>;

TEST(ChunkPool, GivesOutAsMuchAsItsLimit) {
  const Pool pool(new ChunkPool(1024, 5000));
  std::vector<Chunk*> taken;
  while (Chunk* const chunk = pool->take(100)) taken.push_back(chunk);
  EXPECT_EQ(taken.size(), 4U);
  EXPECT_EQ(pool->used_bytes(), 4096U);
  give_back(taken.back());
  taken.back() = pool->take(960);
  EXPECT_NE(taken.back(), nullptr);
  for (Chunk* const chunk : taken) give_back(chunk);
  EXPECT_EQ(pool->used_bytes(), 0U);
  EXPECT_EQ(pool->high_bytes(), 4096U);
}

TEST(ChunkPool, MakesLargeChunksWithinTheLimitAndOthersBeyondIt) {
  const Pool pool(new ChunkPool(1024, 10'000));
  Chunk* const large = pool->take(5000);
  ASSERT_NE(large, nullptr);
  EXPECT_GE(large->capacity, 5000U);
  EXPECT_EQ(pool->take(5000), nullptr);
  Chunk* const beyond = pool->take_beyond(5000);
  ASSERT_NE(beyond, nullptr);
  std::memset(beyond->items(), 1, 5000);
  EXPECT_EQ(pool->used_bytes(), sizeof(Chunk) + large->capacity);
  give_back(beyond);
  give_back(large);
  EXPECT_EQ(pool->used_bytes(), 0U);
}

TEST(ChunkPool, OutlivesItsOwnerWhileChunksAreOut) {
  Pool pool(new ChunkPool(1024, 4096));
  Chunk* const chunk = pool->take(1);
  pool.reset();
  std::memset(chunk->items(), 7, chunk->capacity);
  give_back(chunk);
}

TEST(ChunkPool, IsSharedByThreads) {
  const Pool pool(new ChunkPool(1024, 1024 * 16));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20'000; ++turn) {
        if (Chunk* const chunk = pool->take(8)) {
          std::memset(chunk->items(), turn & 0xFF, 8);
          give_back(chunk);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->used_bytes(), 0U);
  EXPECT_LE(pool->high_bytes(), 1024U * 16U);
}

TEST(Mailbox, KeepsTheOrderOfEachSender) {
  Mailbox mailbox;
  const Pool pool(new ChunkPool(1024, std::size_t{1} << 30));
  constexpr int kEach = 5000;
  std::vector<std::thread> senders;
  for (Rank sender = 0; sender < 3; ++sender) {
    senders.emplace_back([&, sender] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        Chunk* const chunk = pool->take(1);
        chunk->source = sender;
        chunk->sequence = i;
        mailbox.push(chunk);
      }
    });
  }
  std::vector<std::uint64_t> next(3);
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int left = 3 * kEach; left > 0;) {
    Chunk* chunk = mailbox.take();
    if (chunk == nullptr) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      mailbox.wait(deadline);
    }
    for (; chunk != nullptr; --left) {
      EXPECT_EQ(chunk->sequence, next[static_cast<std::size_t>(chunk->source)]++);
      give_back(std::exchange(chunk, chunk->next));
    }
  }
  for (std::thread& sender : senders) sender.join();
}

TEST(Mailbox, StopsWaitingAtItsDeadlineAndWhenWoken) {
  Mailbox mailbox;
  mailbox.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  EXPECT_EQ(mailbox.take(), nullptr);
  std::thread waker([&] { mailbox.wake(); });
  mailbox.wait(std::chrono::steady_clock::now() + std::chrono::seconds(30));
  waker.join();
}

class SpillFileTest : public testing::Test {
 protected:
  Chunk* filled(char with, std::uint32_t bytes) {
    Chunk* const chunk = pool_->take(bytes);
    std::memset(chunk->items(), with, bytes);
    chunk->used = bytes;
    chunk->count = bytes / 4;
    chunk->destination = with;
    return chunk;
  }
  void push(SpillFile& file, char with, std::uint32_t bytes) {
    Chunk* const chunk = filled(with, bytes);
    const Status done = file.push(*chunk);
    EXPECT_TRUE(done) << done.error().message;
    give_back(chunk);
  }
  void expect_front(SpillFile& file, char with, std::uint32_t bytes) {
    ASSERT_EQ(file.front().used, bytes);
    Chunk* const chunk = pool_->take(bytes);
    ASSERT_TRUE(file.pop_into(*chunk));
    EXPECT_EQ(chunk->destination, with);
    EXPECT_EQ(chunk->count, bytes / 4);
    EXPECT_EQ(std::count(chunk->items(), chunk->items() + bytes, std::byte(with)), bytes);
    give_back(chunk);
  }

  Pool pool_{new ChunkPool(1024, std::size_t{1} << 20)};
};

TEST_F(SpillFileTest, KeepsChunksInTheirOrderAndUsesPlacesAgain) {
  SpillFile file("", 8 * 960);
  for (char turn = 0; turn < 100; ++turn) {
    for (char i = 0; i < 5; ++i)
      push(file, static_cast<char>('a' + i), 100U + 4U * static_cast<unsigned>(i));
    EXPECT_EQ(file.items(), 25U + 26U + 27U + 28U + 29U);
    for (char i = 0; i < 5; ++i) {
      expect_front(file, static_cast<char>('a' + i), 100U + 4U * static_cast<unsigned>(i));
    }
    EXPECT_TRUE(file.empty());
  }
  // Never empty, and yet it does not grow.
  push(file, 'x', 960);
  for (int turn = 0; turn < 1000; ++turn) {
    push(file, 'x', 960);
    expect_front(file, 'x', 960);
  }
}

TEST_F(SpillFileTest, TakesLargeChunksToo) {
  SpillFile file("", std::size_t{1} << 20);
  push(file, 's', 960);
  push(file, 'l', 50'000);
  push(file, 't', 960);
  expect_front(file, 's', 960);
  expect_front(file, 'l', 50'000);
  expect_front(file, 't', 960);
}

TEST_F(SpillFileTest, SaysWhenItIsFull) {
  SpillFile file("", 2 * 960);
  push(file, 'a', 960);
  push(file, 'b', 960);
  Chunk* const chunk = filled('c', 960);
  const Status refused = file.push(*chunk);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(file.items(), 480U);
  expect_front(file, 'a', 960);
  EXPECT_TRUE(file.push(*chunk));
  give_back(chunk);
}

TEST(WorkerTeam, CallsEveryWorkerOnce) {
  WorkerTeam team(4);
  EXPECT_EQ(team.size(), 4U);
  std::vector<int> calls(4);
  for (int turn = 0; turn < 500; ++turn) {
    team.run([&](std::size_t worker) { ++calls[worker]; });
  }
  EXPECT_THAT(calls, testing::Each(500));
}

TEST(WorkerTeam, ThrowsWhatAWorkerThrew) {
  WorkerTeam team(3);
  for (const std::size_t thrower : {0U, 2U}) {
    std::atomic<int> calls = 0;
    EXPECT_THROW(team.run([&](std::size_t worker) {
      ++calls;
      if (worker == thrower) throw std::runtime_error("stop");
    }),
                 std::runtime_error);
    EXPECT_EQ(calls, 3);
  }
  std::atomic<int> calls = 0;
  team.run([&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace godwit::forward
