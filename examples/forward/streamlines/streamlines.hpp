// Streamlines of a vector field that no rank has as a whole: particles go where the next block is.
#pragma once

#include <cstdint>
#include <vector>

#include "common/image.hpp"
#include "godwit/group.hpp"
#include "streamlines/kernel.hpp"

namespace gallery::streamlines {

struct Options {
  int lines = 140;
  int steps = 1300;
  int workers = 1;   // threads that run the kernel on each rank
  bool gpu = false;  // runs it on the GPU instead
};

struct Streamlines {
  std::vector<Point> points;  // `steps` places for each line
  std::uint64_t hops = 0;     // of particles, from one rank to another
  std::uint64_t taken = 0;    // steps, of all particles
};

// Every rank calls it. The lines are rank 0's.
Streamlines trace(godwit::Group& group, const Options& options);
Streamlines trace_on_gpu(godwit::Group& group, const Options& options);

// Where a line begins.
Particle seed(std::uint32_t line);

// Whether two runs gave the same lines, to the bit.
bool same(const Streamlines& a, const Streamlines& b);

// The lines, coloured by speed, glowing where they are dense.
Image draw(const Streamlines& lines, const Options& options, int width);

}  // namespace gallery::streamlines
