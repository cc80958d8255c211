#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/sanitizers.hpp"

namespace godwit {
namespace {

TEST(Bytes, TextAndValuesAreSeenInPlace) {
  const std::string_view text = "godwit";
  EXPECT_EQ(text_of(bytes_of(text)), text);
  EXPECT_EQ(static_cast<const void*>(bytes_of(text).data()), text.data());
  const std::uint32_t value = 0x01020304;
  EXPECT_EQ(bytes_of_value(value).size(), 4U);
  EXPECT_EQ(bytes_of_value(value)[0], std::byte{4});
}

TEST(Buffer, AllocatesAlignedMemory) {
  for (const std::size_t size : {1U, 63U, 4096U}) {
    Buffer buffer = Buffer::allocate(size);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
  }
  EXPECT_TRUE(Buffer::allocate(0).empty());
}

TEST(Buffer, IsEmptyWhenTheSystemHasNoMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers end the process instead";
  const Buffer buffer = Buffer::allocate(std::size_t{1} << 62);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, CopiesContent) {
  const Buffer copy = Buffer::copy_of(bytes_of("content"));
  EXPECT_EQ(text_of(copy.view()), "content");
  EXPECT_TRUE(Buffer::copy_of({}).empty());
}

TEST(Buffer, MovingHandsTheMemoryOn) {
  Buffer first = Buffer::copy_of(bytes_of("abc"));
  const std::byte* const data = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(std::as_const(first).data(), nullptr);  // NOLINT: what is left is specified
  EXPECT_TRUE(first.empty());                       // NOLINT
  Buffer third = Buffer::copy_of(bytes_of("replaced"));
  third = std::move(second);
  EXPECT_EQ(text_of(third.view()), "abc");
}

struct Lender {
  std::array<std::byte, 16> memory{};
  int returned = 0;
  std::size_t returned_size = 0;

  static void release(void* owner, std::byte* data, std::size_t size) noexcept {
    auto& lender = *static_cast<Lender*>(owner);
    EXPECT_EQ(data, lender.memory.data());
    ++lender.returned;
    lender.returned_size = size;
  }
  Buffer lend() { return Buffer::adopt(memory.data(), memory.size(), this, &Lender::release); }
};

TEST(Buffer, GivesAdoptedMemoryBackOnceAndWhole) {
  Lender lender;
  {
    Buffer buffer = lender.lend();
    buffer.truncate(3);
    EXPECT_EQ(buffer.view().size(), 3U);
    const Buffer moved = std::move(buffer);
    EXPECT_EQ(lender.returned, 0);
  }
  EXPECT_EQ(lender.returned, 1);
  EXPECT_EQ(lender.returned_size, 16U) << "truncating hides memory, it does not give it up";
}

TEST(Buffer, ResetAndAssignmentReleaseWhatWasHeld) {
  Lender lender;
  Buffer buffer = lender.lend();
  buffer.reset();
  buffer.reset();
  EXPECT_EQ(lender.returned, 1);
  buffer = lender.lend();
  buffer = Buffer();
  EXPECT_EQ(lender.returned, 2);
}

}  // namespace
}  // namespace godwit
