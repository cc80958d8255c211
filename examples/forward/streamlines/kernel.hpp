// The kernel: a particle is carried along by the field, and leaves a point at every step.
#pragma once

#include <cstdint>

#include "common/split.hpp"
#include "common/vec3.hpp"
#include "godwit/kernel.hpp"
#include "streamlines/field.hpp"

namespace gallery::streamlines {

struct Particle {
  Vec3 position = {};
  std::uint32_t line = 0;
  std::uint32_t step = 0;
};

// One point of a line; nothing was there if the speed is below 0.
struct Point {
  Vec3 position = {};
  float speed = -1;
};

// A point on its way to the rank that keeps the line.
struct Trail {
  std::uint32_t line = 0;
  std::uint32_t step = 0;
  Point point = {};
};

// Folds points into the lines that a rank keeps. Each has a place of its own: their order does not
// matter.
struct KeepPoint {
  Point* points = nullptr;
  std::int64_t first_line = 0;
  std::uint32_t steps = 0;

  GODWIT_KERNEL void operator()(const Trail& trail) const {
    points[(trail.line - first_line) * steps + trail.step] = trail.point;
  }
};

// Emits the particles with which lines begin.
struct Begin {
  const Particle* particles = nullptr;
  Split blocks = {};

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    const Particle& particle = particles[index];
    out.emit(particle, blocks.owner(grid().block_of(grid().cell_at(particle.position))));
  }
};

struct Advect {
  Field field = {};
  Split blocks = {};
  Split lines = {};
  std::uint32_t steps = 0;

  // As many steps as the particle can take on this rank. Only then does it travel.
  template <class Out>
  GODWIT_KERNEL void operator()(Particle particle, Out& out) const {
    for (; particle.step < steps; ++particle.step) {
      const Cell cell = grid().cell_at(particle.position);
      if (!grid().contains(cell)) return;
      const int block = grid().block_of(cell);
      if (!field.has(block)) {
        out.emit(particle, blocks.owner(block));
        return;
      }
      const Vec3 velocity = field.sample(block, particle.position);
      out.emit(Trail{particle.line, particle.step, {particle.position, length(velocity)}},
               lines.owner(particle.line));
      particle.position = runge_kutta(block, particle.position, velocity);
    }
  }

  static constexpr float kStep = 0.01F;  // of time; the field moves less than the halo in it

 private:
  // The classical method of fourth order.
  [[nodiscard]] GODWIT_KERNEL Vec3 runge_kutta(int block, Vec3 at, Vec3 v1) const {
    const Vec3 v2 = field.sample(block, at + (kStep / 2) * v1);
    const Vec3 v3 = field.sample(block, at + (kStep / 2) * v2);
    const Vec3 v4 = field.sample(block, at + kStep * v3);
    return at + (kStep / 6) * (v1 + 2 * v2 + 2 * v3 + v4);
  }
};

}  // namespace gallery::streamlines
