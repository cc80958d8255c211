// What bench_ranks passes between nodes, for the program and for the code that travels.
#pragma once

#include <array>
#include <cstdint>

#include "godwit/struct.hpp"

namespace godwit::bench {

// An item, or the source of `more` of them.
struct Drop {
  std::uint64_t more = 0;
  std::array<std::uint64_t, 7> rest{};
};
GODWIT_STRUCT(Drop, more, rest);
static_assert(sizeof(Drop) == 64);

}  // namespace godwit::bench
