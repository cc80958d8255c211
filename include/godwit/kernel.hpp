// What a kernel of an Exchange is written with: the same functor runs on CPU threads and, compiled
// by nvcc, on a GPU.
//
//   struct Advect {
//     Field field;
//     template<class Out>
//     GODWIT_KERNEL void operator()(const Particle& particle, Out& out) const {
//       const Particle next = step(field, particle);
//       if (field.contains(next)) out.emit(next, field.owner(next));
//     }
//   };
//
// It is trivially copyable, since it is sent to the GPU. `out` is this rank's Emitter: emit(item,
// rank[, priority]), rank(), ranks(). An item that is not emitted again ends. Many threads run the
// kernel at once, each with an item of its own.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define GODWIT_KERNEL __host__ __device__
// nvcc compiles a functor for both sides whichever `out` it is given, and warns that the one of CPU
// threads is not for the GPU: there it never goes.
#pragma nv_diag_suppress 20011, 20014
#else
#define GODWIT_KERNEL
#endif

namespace godwit {

// One of the members of a Group, from 0.
using Rank = std::int32_t;

// What became of an item that was emitted.
enum class Emitted : std::uint8_t {
  ok,
  full,      // no room, and nowhere to spill: the item was not taken
  bad_rank,  // no such rank: the item was not taken
  too_large  // an item with a tail that exceeds what the exchange takes: it was not taken
};

// Items of a higher priority are processed first. It orders; it does not reserve: while urgent
// items keep coming, the others wait.
enum class Priority : std::uint8_t { background, normal, high, urgent };
inline constexpr std::uint32_t kPriorities = 4;

}  // namespace godwit
