// What bench_forward measures; each suite is a table.
#pragma once

#include "godwit/error.hpp"
#include "table.hpp"

namespace godwit::bench {

struct ForwardScope {
  bool quick = false;
  bool full = false;  // ten million items per rank, too
};

// Ranks as threads, items of 64 bytes: from rounds of a few items to rounds far beyond the caches.
[[nodiscard]] Result<Table> run_forward_threads(const ForwardScope& scope);
// Items of other sizes.
[[nodiscard]] Result<Table> run_forward_sizes(const ForwardScope& scope);
// A whole run, by rounds and without, where ranks have unequal work.
[[nodiscard]] Result<Table> run_forward_pace(const ForwardScope& scope);

}  // namespace godwit::bench
