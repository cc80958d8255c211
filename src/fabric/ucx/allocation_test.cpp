// Small messages allocate nothing, once the transport has warmed up.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "fabric/ucx/test_peer.hpp"

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* counted_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = counted(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
constexpr std::size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
}  // namespace

void* operator new(std::size_t size) {
  return counted_or_throw(size, kDefault);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, kDefault);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace godwit::fabric::ucx {
namespace {

TEST(UcxAllocation, SmallMessagesAllocateNothingOnceWarm) {
  TestPair pair;
  std::size_t answers = 0;
  pair.server.handler = [&](LinkId link, Message& message) {
    const Bytes part = message.body();
    (void)pair.server.transport->send(link, message.header(), {&part, 1}, 0);
  };
  pair.client.handler = [&](LinkId, Message&) { ++answers; };
  const std::string body = pattern(64);
  const Bytes part = bytes_of(body);
  constexpr std::size_t kWindow = 32;
  const auto exchange = [&](std::size_t rounds) {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < kWindow; ++i) {
        (void)pair.client.transport->send(pair.client_link, {.id = i}, {&part, 1}, 0);
      }
      const std::size_t wanted = answers + kWindow;
      for (std::size_t polls = 0; answers < wanted && polls < 1'000'000; ++polls) {
        pair.server.transport->poll(64);
        pair.client.transport->poll(64);
      }
    }
  };
  exchange(50);
  const std::size_t before = allocations;
  exchange(200);
  EXPECT_EQ(allocations - before, 0U);
  EXPECT_EQ(answers, 250 * kWindow);
  const std::size_t counts = allocations;
  EXPECT_NE(std::make_unique<int>(1), nullptr);
  EXPECT_GT(allocations, counts) << "the counter counts";
}

}  // namespace
}  // namespace godwit::fabric::ucx
