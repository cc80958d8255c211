// Items that walk between ranks, branch and end, by their own numbers alone: where each goes can be
// computed without an exchange, and the two compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "godwit/kernel.hpp"

namespace godwit::forward {

enum class Spread : std::uint8_t {
  uniform,
  all_to_one,
  zipf,
  ring,
  self_only,
  one_rank_starts,
  nobody_starts
};

inline std::string to_string(Spread spread) {
  constexpr const char* kNames[] = {"Uniform",  "AllToOne",      "Zipf",        "Ring",
                                    "SelfOnly", "OneRankStarts", "NobodyStarts"};
  return kNames[static_cast<std::size_t>(spread)];
}

// Packed, so that there are sizes that eight does not divide.
template <std::size_t size>
struct [[gnu::packed, gnu::aligned(4)]] Walker {
  static_assert(size >= 20 && size % 4 == 0);
  std::uint64_t id = 0;
  std::uint32_t step = 0;
  Rank from = 0;
  std::uint32_t filling[(size - 16) / 4] = {};
};
static_assert(sizeof(Walker<20>) == 20);

// A walk's rules: a pure function of an item's number, its step and where it is.
struct Walk {
  Spread spread = Spread::uniform;
  Rank ranks = 1;
  std::uint32_t max_steps = 6;

  [[nodiscard]] Rank destination(std::uint64_t id, std::uint32_t step, Rank at) const {
    const std::uint64_t random = mix64(id * 31 + step);
    const auto count = static_cast<std::uint64_t>(ranks);
    switch (spread) {
      case Spread::uniform:
      case Spread::nobody_starts:
      case Spread::one_rank_starts: return static_cast<Rank>(random % count);
      case Spread::all_to_one: return ranks - 1;
      case Spread::zipf: {  // skewed: half of them to rank 0, half of the rest to rank 1, ...
        Rank rank = 0;
        for (std::uint64_t bits = random; (bits & 1U) != 0 && rank + 1 < ranks; bits >>= 1U) ++rank;
        return rank;
      }
      case Spread::ring: return (at + 1) % ranks;
      case Spread::self_only: return at;
    }
    return 0;
  }
  // How many items follow this one: none, one or two, less than one on average.
  [[nodiscard]] std::uint32_t followers(std::uint64_t id, std::uint32_t step) const {
    if (step >= max_steps) return 0;
    constexpr std::uint32_t kFollowers[] = {0, 1, 1, 1, 2, 1, 0, 1};
    return kFollowers[mix64(id ^ (std::uint64_t{step} << 40U)) % 8];
  }
  [[nodiscard]] std::uint64_t seeds_of(Rank rank, std::uint64_t seeds) const {
    if (spread == Spread::nobody_starts) return 0;
    return spread == Spread::one_rank_starts && rank != 0 ? 0 : seeds;
  }
  [[nodiscard]] static std::uint64_t seed_id(Rank rank, std::uint64_t number) {
    return mix64((static_cast<std::uint64_t>(rank) << 40U) + number);
  }
  [[nodiscard]] static std::uint64_t follower_id(std::uint64_t id, std::uint32_t step,
                                                 std::uint32_t number) {
    return mix64(id + step * 7919 + number);
  }
};

// What went from each rank to each: how many, and a sum of hashes, which does not depend on order.
struct Traffic {
  explicit Traffic(Rank ranks) : ranks_(ranks), counts(cells()), hashes(cells()) {}
  void note(Rank from, Rank to, std::uint64_t id, std::uint32_t step) {
    const auto cell = static_cast<std::size_t>(from * ranks_ + to);
    ++counts[cell];
    hashes[cell] += mix64(id + step);
  }
  void add(const Traffic& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] += other.counts[i];
      hashes[i] += other.hashes[i];
    }
  }
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;

 private:
  [[nodiscard]] std::size_t cells() const { return static_cast<std::size_t>(ranks_ * ranks_); }
  Rank ranks_;

 public:
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> hashes;
};

// All that a walk of `seeds` items from each rank does.
inline Traffic expected_traffic(const Walk& walk, std::uint64_t seeds) {
  struct Step {
    std::uint64_t id;
    std::uint32_t step;
    Rank at;
  };
  Traffic traffic(walk.ranks);
  std::vector<Step> open;
  const auto go = [&](std::uint64_t id, std::uint32_t step, Rank from) {
    const Rank to = walk.destination(id, step, from);
    traffic.note(from, to, id, step);
    open.push_back({id, step, to});
  };
  for (Rank rank = 0; rank < walk.ranks; ++rank) {
    for (std::uint64_t i = 0; i < walk.seeds_of(rank, seeds); ++i)
      go(Walk::seed_id(rank, i), 0, rank);
  }
  while (!open.empty()) {
    const Step item = open.back();
    open.pop_back();
    for (std::uint32_t i = 0; i < walk.followers(item.id, item.step); ++i) {
      go(Walk::follower_id(item.id, item.step, i), item.step + 1, item.at);
    }
  }
  return traffic;
}

}  // namespace godwit::forward
