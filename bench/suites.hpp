// The suites: one table each. Every one starts the processes it needs and leaves none behind. Run
// by one thread, one after the other.
#pragma once

#include "floors/fork_server.hpp"
#include "settings.hpp"
#include "table.hpp"

namespace godwit::bench {

// One 64-byte call at a time, both sides polling, beside the raw transports; shipped beside
// installed.
[[nodiscard]] Result<Table> run_warm(const Settings& settings, floors::ForkServer& floors);
// 64 calls in flight.
[[nodiscard]] Result<Table> run_pipelined(const Settings& settings, floors::ForkServer& floors);
// 8 B to 64 MiB.
[[nodiscard]] Result<Table> run_sizes(const Settings& settings, floors::ForkServer& floors);
// Several client threads on one connection.
[[nodiscard]] Result<Table> run_threads(const Settings& settings, floors::ForkServer& floors);
// First calls of code the node has not seen, and where their time goes.
[[nodiscard]] Result<Table> run_cold(const Settings& settings, floors::ForkServer& floors);
// The same echo as others do it, sleeping and spinning.
[[nodiscard]] Result<Table> run_peers(const Settings& settings, floors::ForkServer& floors);

}  // namespace godwit::bench
