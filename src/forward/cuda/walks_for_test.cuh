// Items that walk between ranks and keep account of it, for tests and benchmarks.
//
// Every emission is entered for its pair (source, destination) where it is emitted, and again where
// it arrives: count and sum of hashes must be the same. What an item carries besides its first word
// follows from it, so that a torn or mixed-up item shows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "godwit/kernel.hpp"

namespace godwit::cuda {

// The first word: hops left (3 bits), source rank (6), serial number (23).
template <std::size_t size>
struct Walker {
  std::uint32_t words[size / 4];
};

GODWIT_KERNEL inline std::uint32_t mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Counts of one pair of ranks, or of one rank.
struct Account {
  unsigned long long items;
  unsigned long long hashes;
  unsigned long long torn;
};

enum class Pattern : std::uint8_t { uniform, all_to_one, zipf, ring, self, empty, burst };

// Where a walker goes next.
GODWIT_KERNEL inline Rank next_rank(Pattern pattern, std::uint32_t word, Rank here, Rank ranks) {
  const std::uint32_t random = mix(word * 31 + 7);
  const auto count = static_cast<std::uint32_t>(ranks);
  switch (pattern) {
    case Pattern::all_to_one: return ranks / 2;
    case Pattern::zipf: {
      const auto steps = static_cast<Rank>(__builtin_ffs(static_cast<int>(random)) % 32);
      return steps < ranks ? steps : 0;
    }
    case Pattern::ring: return (here + 1) % ranks;
    case Pattern::self: return here;
    default: return static_cast<Rank>((static_cast<std::uint64_t>(random) * count) >> 32);
  }
}

struct Ledger {
  Account* sent;     // [ranks * ranks]
  Account* arrived;  // the same

  // By many threads of a GPU, or of the host.
  GODWIT_KERNEL static void add(unsigned long long& sum, unsigned long long value) {
#if defined(__CUDA_ARCH__)
    atomicAdd(&sum, value);
#else
    __atomic_fetch_add(&sum, value, __ATOMIC_RELAXED);
#endif
  }
  GODWIT_KERNEL static void enter(Account* accounts, std::uint32_t pair, std::uint32_t word) {
    add(accounts[pair].items, 1);
    add(accounts[pair].hashes, mix(word));
  }
  template <std::size_t size, class Out>
  GODWIT_KERNEL void send(std::uint32_t serial, std::uint32_t hops, Rank to, Out& out) const {
    Walker<size> walker;
    const auto source = static_cast<std::uint32_t>(out.rank());
    walker.words[0] = serial << 9 | source << 3 | hops;
    for (std::uint32_t i = 1; i < size / 4; ++i) walker.words[i] = mix(walker.words[0] + i);
    if (out.emit(walker, to) == Emitted::ok) {
      enter(sent, source * static_cast<std::uint32_t>(out.ranks()) + static_cast<std::uint32_t>(to),
            walker.words[0]);
    }
  }
  template <std::size_t size, class Out>
  GODWIT_KERNEL void arrive(const Walker<size>& walker, Out& out) const {
    const std::uint32_t source = walker.words[0] >> 3 & 63;
    const std::uint32_t pair =
        source * static_cast<std::uint32_t>(out.ranks()) + static_cast<std::uint32_t>(out.rank());
    bool whole = source < static_cast<std::uint32_t>(out.ranks());
    for (std::uint32_t i = 1; i < size / 4; ++i) {
      whole = whole && walker.words[i] == mix(walker.words[0] + i);
    }
    if (whole) {
      enter(arrived, pair, walker.words[0]);
    } else {
      add(arrived[0].torn, 1);
    }
  }
};

// functor(index, out): begins the walks.
template <std::size_t size>
struct Begin {
  Ledger ledger;
  Pattern pattern;
  std::uint32_t hops;

  template <class Out>
  GODWIT_KERNEL void operator()(std::uint64_t index, Out& out) const {
    if (pattern == Pattern::empty && out.rank() != 0) return;
    const auto serial = static_cast<std::uint32_t>(index);
    ledger.send<size>(serial, hops, next_rank(pattern, serial, out.rank(), out.ranks()), out);
  }
};

// functor(item, out): one step; bursts double.
struct Step {
  Ledger ledger;
  Pattern pattern;

  template <std::size_t size, class Out>
  GODWIT_KERNEL void operator()(const Walker<size>& walker, Out& out) const {
    ledger.arrive(walker, out);
    const std::uint32_t hops = walker.words[0] & 7;
    if (hops == 0) return;
    const std::uint32_t serial = walker.words[0] >> 9;
    const Rank to = next_rank(pattern, walker.words[0], out.rank(), out.ranks());
    ledger.send<size>(serial, hops - 1, to, out);
    if (pattern == Pattern::burst) {
      ledger.send<size>(serial + 1, hops - 1, (to + 1) % out.ranks(), out);
      ledger.send<size>(serial + 2, hops - 1, out.rank(), out);
    }
  }
};

}  // namespace godwit::cuda
