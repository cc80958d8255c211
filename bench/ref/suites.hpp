// What bench_ref measures; each suite is a table.
#pragma once

#include "godwit/error.hpp"
#include "ref/setup.hpp"
#include "table.hpp"

namespace godwit::bench {

// Sizes over one transport, all sides spinning.
[[nodiscard]] Result<Table> run_ref_shm(const Scope& scope);
[[nodiscard]] Result<Table> run_ref_tcp(const Scope& scope);
// Small objects where everybody sleeps between messages.
[[nodiscard]] Result<Table> run_ref_sleeping(const Scope& scope);
// A thousand objects of 1 KB.
[[nodiscard]] Result<Table> run_ref_batch(const Scope& scope);
[[nodiscard]] Result<Table> run_ref_threads(const Scope& scope);
[[nodiscard]] Result<Table> run_ref_futures(const Scope& scope);
[[nodiscard]] Result<Table> run_ref_streams(const Scope& scope);
[[nodiscard]] Result<Table> run_ref_memory(const Scope& scope);
// A folder and Redis.
[[nodiscard]] Result<Table> run_ref_channels(const Scope& scope);

}  // namespace godwit::bench
