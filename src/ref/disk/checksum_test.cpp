#include "ref/disk/checksum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace godwit::ref {
namespace {

std::vector<std::byte> some_bytes(std::size_t size) {
  Random random(size + 1);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

TEST(Checksum, IsTheSameHoweverTheBytesAreCut) {
  const auto bytes = some_bytes(1'000);
  const Bytes all(bytes);
  const std::uint64_t whole = Checksum::of(all);
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Checksum checksum;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t size = std::min<std::size_t>(random.below(100), all.size() - at);
      checksum.add(all.subspan(at, size));
      at += size;
    }
    ASSERT_EQ(checksum.value(), whole);
  }
}

TEST(Checksum, AnyBitThatFlipsChangesIt) {
  for (const std::size_t size : {1U, 7U, 8U, 31U, 32U, 33U, 100U}) {
    auto bytes = some_bytes(size);
    const std::uint64_t before = Checksum::of(bytes);
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      const auto flip = static_cast<std::byte>(1U << (bit % 8));
      bytes[bit / 8] ^= flip;
      EXPECT_NE(Checksum::of(bytes), before) << "bit " << bit << " of " << size << " bytes";
      bytes[bit / 8] ^= flip;
    }
  }
}

TEST(Checksum, ZerosOfEveryLengthDiffer) {
  const std::vector<std::byte> zeros(300);
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= zeros.size(); ++size) {
    seen.insert(Checksum::of(Bytes(zeros).first(size)));
  }
  EXPECT_EQ(seen.size(), zeros.size() + 1);
}

TEST(Checksum, WordsThatChangePlacesChangeIt) {
  auto bytes = some_bytes(256);
  const std::uint64_t before = Checksum::of(bytes);
  for (std::size_t word = 1; word < 32; ++word) {
    std::swap_ranges(bytes.begin(), bytes.begin() + 8,
                     bytes.begin() + static_cast<std::ptrdiff_t>(8 * word));
    EXPECT_NE(Checksum::of(bytes), before) << word;
    std::swap_ranges(bytes.begin(), bytes.begin() + 8,
                     bytes.begin() + static_cast<std::ptrdiff_t>(8 * word));
  }
}

TEST(Checksum, CopiesWhatItAdds) {
  const auto bytes = some_bytes(5'000);
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> copy(bytes.size());
    Checksum checksum;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(random.below(300), bytes.size() - at);
      checksum.add_copying(Bytes(bytes).subspan(at, size), copy.data() + at);
      at += size;
    }
    ASSERT_EQ(copy, bytes);
    ASSERT_EQ(checksum.value(), Checksum::of(bytes));
  }
}

TEST(Checksum, IsTheSameWithAndWithoutVectors) {
  checksum_blocks::AddBlocks* const vectors = checksum_blocks::add_blocks_with_avx2();
  if (vectors == nullptr) GTEST_SKIP() << "this machine has no AVX2";
  const auto bytes = some_bytes(64 * Checksum::kBlock + 1);
  for (const bool copies : {false, true}) {
    for (const std::size_t misaligned : {0U, 1U}) {
      Checksum::Lanes lanes[2] = {{1, 2, 3}, {1, 2, 3}};
      Checksum::Lanes keys[2] = {{4, 5, 6, 7}, {4, 5, 6, 7}};
      std::vector<std::byte> copy[2] = {some_bytes(0), some_bytes(0)};
      for (auto& one : copy) one.resize(64 * Checksum::kBlock);
      const std::byte* from = bytes.data() + misaligned;
      vectors(lanes[0], keys[0], from, copies ? copy[0].data() : nullptr, 64);
      checksum_blocks::add_blocks_anywhere(lanes[1], keys[1], from,
                                           copies ? copy[1].data() : nullptr, 64);
      EXPECT_EQ(lanes[0], lanes[1]);
      EXPECT_EQ(keys[0], keys[1]);
      EXPECT_EQ(copy[0], copy[1]);
    }
  }
}

TEST(Checksum, IsTheSameOnEveryMachine) {
  EXPECT_EQ(Checksum::of({}), 0xd49ab4f66b5a577c);
  EXPECT_EQ(Checksum::of(bytes_of("The godwit flies farthest without a stop.")),
            0x534926ea8adc626c);
}

}  // namespace
}  // namespace godwit::ref
