// Particles that fly through a building that no rank knows as a whole, and the dose they leave.
#pragma once

#include <cstdint>
#include <vector>

#include "common/image.hpp"
#include "godwit/group.hpp"

namespace gallery::transport {

struct Options {
  int particles = 200'000;
  int workers = 1;   // threads that run the kernel on each rank
  bool gpu = false;  // runs it on the GPU instead
};

struct Dose {
  std::vector<std::uint64_t> cells;  // energy that stayed, by Grid::index_of
  std::uint64_t escaped = 0;
  std::uint64_t hops = 0;  // of particles, from one rank to another

  [[nodiscard]] std::uint64_t stayed() const;
};

// Every rank calls it. The dose is rank 0's.
Dose simulate(godwit::Group& group, const Options& options);
Dose simulate_on_gpu(godwit::Group& group, const Options& options);

// All energy that particles were born with.
std::uint64_t energy_of(const Options& options);

// Seen from above, each colour ten times the dose of the one before; `scale` pixels to a cell.
Image draw(const Dose& dose, int scale);

}  // namespace gallery::transport
