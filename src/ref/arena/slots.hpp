// Which of the equal pieces of a range are free. Lies outside the memory it speaks of, which peers
// may be able to write to.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace godwit::ref {

// take() and give() cost the same for one piece and for kMost. One thread at a time.
class Slots {
 public:
  static constexpr std::size_t kMost = std::size_t{32} << 10;

  // At most kMost. Nothing is allocated after this.
  explicit Slots(std::size_t most) : words_((most + kBits - 1) / kBits) {}

  // All are free. At most what the constructor was told.
  void reset(std::size_t count) noexcept {
    count_ = free_ = count;
    summary_ = {};
    for (std::size_t word = 0; word * kBits < count; ++word) {
      words_[word] = low_bits(count - word * kBits);
      mark(word);
    }
  }
  [[nodiscard]] bool none_free() const noexcept { return free_ == 0; }
  [[nodiscard]] bool all_free() const noexcept { return free_ == count_; }
  // The first; there is one.
  [[nodiscard]] std::size_t take() noexcept {
    std::size_t group = 0;
    while (summary_[group] == 0) ++group;
    const std::size_t word = group * kBits + first(summary_[group]);
    const std::size_t bit = first(words_[word]);
    words_[word] &= ~(std::uint64_t{1} << bit);
    if (words_[word] == 0) summary_[group] &= ~(std::uint64_t{1} << (word % kBits));
    --free_;
    return word * kBits + bit;
  }
  // False: it is free already.
  [[nodiscard]] bool give(std::size_t slot) noexcept {
    const std::size_t word = slot / kBits;
    const std::uint64_t bit = std::uint64_t{1} << (slot % kBits);
    if (slot >= count_ || (words_[word] & bit) != 0) return false;
    words_[word] |= bit;
    mark(word);
    ++free_;
    return true;
  }

 private:
  static constexpr std::size_t kBits = 64;

  [[nodiscard]] static std::size_t first(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(std::countr_zero(word));
  }
  [[nodiscard]] static std::uint64_t low_bits(std::size_t count) noexcept {
    return count >= kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }
  void mark(std::size_t word) noexcept {
    summary_[word / kBits] |= std::uint64_t{1} << (word % kBits);
  }

  std::vector<std::uint64_t> words_;                            // a bit for each free one
  std::array<std::uint64_t, kMost / kBits / kBits> summary_{};  // a bit for each word with any
  std::size_t count_ = 0;
  std::size_t free_ = 0;
};

}  // namespace godwit::ref
