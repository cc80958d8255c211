#include "base/copy_fresh.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace godwit {
namespace {

TEST(CopyFresh, CopiesSoManyBytesAndNoMore) {
  constexpr std::size_t kLargest = 300;
  std::vector<std::byte> from(kLargest + 1);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i * 7 + 1);
  for (std::size_t size = 0; size <= kLargest; ++size) {
    std::vector<std::byte> to(kLargest + 1, std::byte{0xEE});
    copy_fresh(to.data(), from.data(), size);
    for (std::size_t i = 0; i < to.size(); ++i) {
      ASSERT_EQ(to[i], i < size ? from[i] : std::byte{0xEE}) << size << " bytes, at " << i;
    }
  }
}

TEST(CopyFresh, OfNothingNeedsNoMemory) {
  copy_fresh(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace godwit
