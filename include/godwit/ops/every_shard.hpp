// The same function at the home of every shard of a region, and what came of it.
//
//   auto sum = bundle.function<std::uint64_t(std::string_view)>("sum").value();
//   auto sums = godwit::ops::at_every_shard(list, sum, "list").get();
//   // Outcome<std::vector<Outcome<std::uint64_t>>>: one for each shard, in order
#pragma once

#include <type_traits>
#include <vector>

#include "godwit/detail/region_handle.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"
#include "godwit/region.hpp"

namespace godwit::detail {
// The home of each shard, in order; of lost ones the node that was.
[[nodiscard]] GODWIT_API std::vector<NodeHandle> homes_of(const RegionHandle& region);
}  // namespace godwit::detail

namespace godwit::ops {

// Calls it at all homes at the same time; the i-th outcome is that of shard i. A node that has two
// shards is called twice. The arguments are borrowed until the future is ready. Each call fails
// alone: node_lost for a home that has ended, and the others' outcomes are kept.
template <class T, class R, class... Params>
Future<std::vector<Outcome<R>>> at_every_shard(const Region<T>& region,
                                               const Function<R(Params...)>& function,
                                               std::type_identity_t<Passed<Params>>... args) {
  std::vector<Future<R>> calls;
  for (const NodeHandle& home : detail::homes_of(region.handle())) {
    calls.push_back(function.on(home)(args...));
  }
  return when_all(std::move(calls));
}

}  // namespace godwit::ops
