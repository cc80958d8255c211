// The kernel: a particle flies straight, leaves some of its energy on the way, collides and flies
// on in another direction, until little is left or it is outside.
#pragma once

#include <cstdint>

#include "common/atomics.hpp"
#include "common/exact.hpp"
#include "common/grid.hpp"
#include "common/random.hpp"
#include "common/split.hpp"
#include "godwit/kernel.hpp"
#include "transport/medium.hpp"

namespace gallery::transport {

// Energy is counted in whole units: none is lost in rounding, and sums do not depend on their
// order.
inline constexpr std::uint32_t kEnergy = std::uint32_t{1} << 24;  // of a particle when it is born
inline constexpr std::uint32_t kLeast = kEnergy / 1024;           // with less it stops

struct Particle {
  Vec3 origin = {};  // where it was born or has collided
  Vec3 direction = {};
  float from = 0;   // distance from there at which it came into its cell
  float depth = 0;  // how much matter is left until it collides
  std::uint32_t id = 0;
  std::uint32_t drawn = 0;  // random numbers
  std::uint32_t energy = 0;
  Cell cell = {};
};

// Energy that stays in a cell.
struct Deposit {
  std::int32_t cell = 0;  // Grid::index_of
  std::uint32_t energy = 0;
};
// Energy that is gone through the roof, the floor or the walls.
struct Escape {
  std::uint32_t energy = 0;
};

struct AddDeposit {
  std::uint64_t* cells = nullptr;
  std::int64_t first_cell = 0;
  GODWIT_KERNEL void operator()(const Deposit& deposit) const {
    fold_add(cells[deposit.cell - first_cell], deposit.energy);
  }
};
struct AddEscape {
  std::uint64_t* energy = nullptr;
  GODWIT_KERNEL void operator()(const Escape& escape) const { fold_add(*energy, escape.energy); }
};

// A new direction, and how much matter the particle will pass before it collides.
GODWIT_KERNEL inline void scatter(Particle& particle) {
  Random random{.key = particle.id, .drawn = particle.drawn};
  particle.direction = any_direction(random);
  particle.depth = -exact_log(1 - random.next());
  particle.from = 0;
  particle.drawn = random.drawn;
}

// Emits the particles that the source sends out.
struct Radiate {
  Vec3 source = {};
  std::uint32_t first_id = 0;
  Split blocks = {};

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    Particle particle{.origin = source,
                      .id = first_id + static_cast<std::uint32_t>(index),
                      .energy = kEnergy,
                      .cell = grid().cell_at(source)};
    scatter(particle);
    out.emit(particle, blocks.owner(grid().block_of(particle.cell)));
  }
};

struct Fly {
  Medium medium = {};
  Split blocks = {};

  template <class Out>
  GODWIT_KERNEL void operator()(Particle particle, Out& out) const {
    while (medium.has(particle.cell)) {
      const Response here = response(medium.at(particle.cell));
      const Exit exit = leave(grid(), particle.cell, particle.origin, particle.direction);
      const float collision = particle.from + particle.depth / here.scattering;
      const bool collides = collision < exit.distance;
      const float end = collides ? collision : exit.distance;
      if (!absorb(particle, here.absorption * (end - particle.from), out)) return;
      if (collides) {
        particle.origin = particle.origin + end * particle.direction;
        scatter(particle);
        continue;
      }
      particle.depth -= here.scattering * (end - particle.from);
      particle.from = end;
      particle.cell = exit.next;
      if (!grid().contains(particle.cell)) {
        out.emit(Escape{particle.energy}, 0);
        return;
      }
    }
    out.emit(particle, blocks.owner(grid().block_of(particle.cell)));
  }

 private:
  // False if the particle ends here. The deposit is for this very rank, which owns the cell: it
  // does not leave. As an item it needs no lock, however many threads run the kernel.
  template <class Out>
  GODWIT_KERNEL static bool absorb(Particle& particle, float matter, Out& out) {
    const float share = 1 - exact_decay(matter);
    auto kept = static_cast<std::uint32_t>(share * static_cast<float>(particle.energy));
    if (particle.energy - kept < kLeast) kept = particle.energy;
    if (kept > 0) out.emit(Deposit{grid().index_of(particle.cell), kept}, out.rank());
    particle.energy -= kept;
    return particle.energy > 0;
  }
};

}  // namespace gallery::transport
