#include "base/buffer_shelf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "base/sanitizers.hpp"

namespace godwit {
namespace {

// In a thread of its own: what other tests left on this thread's shelf does not matter.
template <class Body>
void in_new_thread(const Body& body) {
  std::thread thread(body);
  thread.join();
}

TEST(BufferShelf, EverySizeItServesHasRoom) {
  in_new_thread([] {
    for (std::size_t size = BufferShelf::kSmallest; BufferShelf::serves(size); size += 97) {
      Buffer first = Buffer::allocate(size);
      ASSERT_EQ(first.size(), size);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 64, 0U);
      std::memset(first.data(), 1, size);
      first.reset();
      Buffer again = Buffer::allocate(size);
      std::memset(again.data(), 2, size);
    }
  });
}

TEST(BufferShelf, KeepsNoMoreThanItsLimit) {
  in_new_thread([] {
    {
      std::vector<Buffer> many;
      for (int i = 0; i < 100; ++i) many.push_back(Buffer::allocate(4096 + 16));
    }
    EXPECT_LE(BufferShelf::kept(), BufferShelf::kPerClass);
  });
}

#ifndef GODWIT_ADDRESS_SANITIZER
TEST(BufferShelf, GivesTheSameMemoryAgain) {
  in_new_thread([] {
    Buffer first = Buffer::allocate(5000);
    const std::byte* const data = first.data();
    first.reset();
    EXPECT_EQ(BufferShelf::kept(), 1U);
    EXPECT_EQ(Buffer::allocate(4600).data(), data);
  });
}
#endif

// Destroyed after the shelf, which is made later.
struct Late {
  Buffer buffer;
};

TEST(BufferShelf, ABufferMayOutliveItsThreadsShelf) {
  in_new_thread([] {
    thread_local Late late;
    late.buffer = Buffer::allocate(2000);
  });
  Buffer from_elsewhere;
  in_new_thread([&] { from_elsewhere = Buffer::allocate(2000); });
  std::memset(from_elsewhere.data(), 1, from_elsewhere.size());
}

}  // namespace
}  // namespace godwit
