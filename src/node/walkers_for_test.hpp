// Walkers that nodes, or threads, pass to each other: what mobile code and tests share.
#pragma once

#include <cstdint>

#include "godwit/kernel.hpp"
#include "godwit/struct.hpp"

namespace godwit::node {

struct Walker {
  std::uint64_t id = 0;
  std::uint64_t state = 0;
  std::uint32_t steps = 0;  // left
  std::uint32_t weight = 0;
};
GODWIT_STRUCT(Walker, id, state, steps, weight);

// Of all walkers that came to a rank: `sum` is the same in any order, `order` is not.
struct Seen {
  std::uint64_t processed = 0;
  std::uint64_t sum = 0;
  std::uint64_t order = 0;

  void add(const Walker& walker) {
    sum += walker.state ^ walker.id;
    order = order * 6364136223846793005U + walker.state;
  }
  friend bool operator==(const Seen&, const Seen&) = default;
};
GODWIT_STRUCT(Seen, processed, sum, order);

inline std::uint64_t next_state(std::uint64_t state) {
  return state * 6364136223846793005U + 1442695040888963407U;
}
inline Rank place_of(std::uint64_t state, Rank ranks) {
  return static_cast<Rank>((state >> 33U) % static_cast<std::uint64_t>(ranks));
}

// A step of a walker over nodes; `out` says where those end that are done.
template <class Out>
void step(const Walker& walker, Out& out) {
  Walker next = walker;
  next.state = next_state(walker.state);
  if (next.steps == 0) {
    out.emit(next, out.client());
    return;
  }
  --next.steps;
  out.emit(next, place_of(next.state, out.ranks()));
}

// What fail_at() does (testdata/ranks.cpp).
inline constexpr std::uint32_t kThrows = 0;
inline constexpr std::uint32_t kMissesRegion = 1;
inline constexpr std::uint32_t kEmitsAstray = 2;
inline constexpr std::uint32_t kDies = 3;
inline constexpr std::uint32_t kReturnsEarly = 4;
inline constexpr std::uint32_t kThrowsEarly = 5;
inline constexpr std::uint32_t kRoams = 6;
inline constexpr std::uint32_t kDawdles = 7;

}  // namespace godwit::node
