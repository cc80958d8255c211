// Timing one thing again and again, until enough is known.
#pragma once

#include <cstdint>

#include "base/fail.hpp"
#include "floors/sample.hpp"

namespace godwit::bench {

using floors::Sample;

// Of one contender, in one round: until all of `time_ns` or `rounds` is spent, whichever is first,
// but `least` in any case.
struct Enough {
  std::uint64_t time_ns = 40'000'000;
  std::size_t rounds = 20'000;
  std::size_t least = 3;

  [[nodiscard]] bool is_met(std::size_t done, std::uint64_t spent_ns) const noexcept {
    return done >= least && (done >= rounds || spent_ns >= time_ns);
  }
};

// `once` does it and says how long the part took that is measured, in ns. The rate is of that part.
template <class Once>
[[nodiscard]] Result<Sample> time_parts(const Enough& enough, const Once& once) {
  floors::RoundTrips times(enough.rounds);
  std::uint64_t spent_ns = 0;
  const std::uint64_t begin_ns = floors::now_ns();
  while (!enough.is_met(times.size(), floors::now_ns() - begin_ns)) {
    GODWIT_TRY(const std::uint64_t part_ns, once());
    times.add(part_ns);
    spent_ns += part_ns;
  }
  return times.summarise(spent_ns);
}

// The same where all that `act` does is measured. `act` returns a Status or Result.
template <class Act>
[[nodiscard]] Result<std::uint64_t> time_of(const Act& act) {
  const std::uint64_t begin_ns = floors::now_ns();
  auto done = act();
  const std::uint64_t end_ns = floors::now_ns();
  if (!done) return tl::unexpected(std::move(done).error());
  return Result<std::uint64_t>(end_ns - begin_ns);
}

}  // namespace godwit::bench
