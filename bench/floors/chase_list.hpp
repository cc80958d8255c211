// The list that chases follow, the same for all contenders: element i holds the index of the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "godwit/error.hpp"

namespace godwit::floors {

// One cycle through all elements, in an order whose high bits, and so its shards and pages, look
// random: a linear congruential generator of full period. Being arithmetic, it costs nothing to
// make and every answer can be checked.
class ChaseOrder {
 public:
  // `elements` is a power of two.
  explicit constexpr ChaseOrder(std::uint64_t elements) : mask_(elements - 1) {}

  [[nodiscard]] constexpr std::uint64_t elements() const noexcept { return mask_ + 1; }
  [[nodiscard]] constexpr std::uint64_t next(std::uint64_t at) const noexcept {
    return (at * kMultiplier + kIncrement) & mask_;
  }

  // So many steps at once.
  class Leap {
   public:
    [[nodiscard]] constexpr std::uint64_t from(std::uint64_t at) const noexcept {
      return (at * multiplier_ + increment_) & mask_;
    }

   private:
    friend class ChaseOrder;
    std::uint64_t multiplier_ = 1;
    std::uint64_t increment_ = 0;
    std::uint64_t mask_ = 0;
  };
  [[nodiscard]] constexpr Leap leap(std::uint64_t steps) const noexcept {
    Leap leap;
    leap.mask_ = mask_;
    for (; steps > 0; --steps) {
      leap.multiplier_ *= kMultiplier;
      leap.increment_ = leap.increment_ * kMultiplier + kIncrement;
    }
    return leap;
  }

 private:
  // 5 modulo 8 and odd, as the full period asks.
  static constexpr std::uint64_t kMultiplier = 6364136223846793005U;
  static constexpr std::uint64_t kIncrement = 1442695040888963407U;
  std::uint64_t mask_;
};

// Where chases begin.
class ChaseStarts {
 public:
  explicit ChaseStarts(std::uint64_t elements) : elements_(elements) {}
  std::uint64_t next() { return random_() % elements_; }

 private:
  std::uint64_t elements_;
  std::mt19937_64 random_{7};
};

// The list in memory that forked processes share.
class ChaseList {
 public:
  // Error: out_of_memory; invalid_argument unless `elements` is a power of two.
  [[nodiscard]] static Result<ChaseList> create(std::uint64_t elements);
  ChaseList(ChaseList&& other) noexcept;
  ChaseList& operator=(ChaseList&& other) noexcept;
  ~ChaseList();

  [[nodiscard]] std::span<const std::uint64_t> next() const noexcept { return {next_, elements_}; }

 private:
  ChaseList(std::uint64_t* next, std::uint64_t elements) : next_(next), elements_(elements) {}

  std::uint64_t* next_ = nullptr;
  std::uint64_t elements_ = 0;
};

}  // namespace godwit::floors
