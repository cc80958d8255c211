// Reductions over all elements of a region, made where the elements are.
//
//   auto heights = godwit::Region<double>::attach(fleet, "heights").value();
//   auto all = godwit::ops::aggregate(heights, {.at_least = 0}).get();   // count, sum, min, max
//   auto best = godwit::ops::top(heights, 10).get();                     // {index, value}
//
// The shards form a tree with a fan-out of 4 and shard 0 at its root: a node joins what the nodes
// below it come to with what it has itself, so that nobody waits for more than four. Elements that
// change meanwhile count with one of their values; those of 1, 2, 4 and 8 bytes are never torn. A
// reduction ends whole or not at all: if a shard is lost it ends as node_lost and names the shard.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "godwit/detail/op_calls.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// How many elements lie where: `counts` has a bucket for each of the equal parts of [low, high).
struct Histogram {
  std::uint64_t below = 0;
  std::vector<std::uint64_t> counts;
  std::uint64_t above = 0;  // with what is not a number
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

template <AnyNumber T>
struct Buckets {
  T low = 0;
  T high = 0;
  std::uint32_t count = 0;  // 1 to kMaxBuckets
};

// --- For the library: results, read ---

template <AnyNumber T>
Outcome<Aggregate<T>> unpack_aggregate(const Outcome<PackedAggregate>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  return Aggregate<T>::from(*packed);
}
template <AnyNumber T>
Outcome<SumOf<T>> unpack_sum(const Outcome<PackedAggregate>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  return Aggregate<T>::from(*packed).sum;
}
template <AnyNumber T>
Outcome<std::uint64_t> unpack_count(const Outcome<PackedAggregate>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  return packed->count;
}
template <AnyNumber T>
Outcome<std::optional<T>> unpack_min(const Outcome<PackedAggregate>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  return packed->count == 0 ? std::optional<T>() : Aggregate<T>::from(*packed).min;
}
template <AnyNumber T>
Outcome<std::optional<T>> unpack_max(const Outcome<PackedAggregate>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  return packed->count == 0 ? std::optional<T>() : Aggregate<T>::from(*packed).max;
}
template <AnyNumber T>
Outcome<std::vector<Entry<T>>> unpack_top(const Outcome<std::vector<PackedEntry>>& packed) {
  if (!packed) return tl::unexpected(packed.error());
  std::vector<Entry<T>> entries;
  entries.reserve(packed->size());
  for (const PackedEntry& entry : *packed) {
    entries.push_back({entry.index, number_from<T>(entry.value)});
  }
  return entries;
}
inline Outcome<Histogram> unpack_histogram(const Outcome<std::vector<std::uint64_t>>& counts) {
  if (!counts) return tl::unexpected(counts.error());
  if (counts->size() < 2) {
    return tl::unexpected(
        Failure{Ending::rejected, ErrorCode::bad_format, true, "the root sent no histogram"});
  }
  return Histogram{counts->front(), {counts->begin() + 1, counts->end() - 1}, counts->back()};
}

// The reply of a call, made an R by `Unpack`.
template <class Packed, class R, Outcome<R> (*Unpack)(const Outcome<Packed>&)>
Outcome<R> reduced_outcome(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(detail::region_failure(call));
  return Unpack(detail::outcome_of<Packed>(std::move(call)));
}

template <class R, Outcome<R> (*Unpack)(const Outcome<PackedAggregate>&), AnyNumber T>
[[nodiscard]] Future<R> aggregated(const Region<T>& region, const char* what, const Where<T>& where,
                                   Mechanism mechanism) {
  const std::uint64_t at_least = bits_of(where.at_least);
  const std::uint64_t at_most = bits_of(where.at_most);
  if (const auto here = detail::aggregate_here(region.handle(), what, number_of<T>, at_least,
                                               at_most, mechanism)) {
    return detail::known<R>(Unpack(*here));
  }
  return Future<R>(detail::start_aggregate(region.handle(), what, number_of<T>, at_least, at_most),
                   &reduced_outcome<PackedAggregate, R, Unpack>);
}

// --- Filter and aggregate ---
// `direct` and `get` are over when these return, also if `automatic` chose them: it does for
// regions so small that a call costs more.

// Of the elements that lie in a range. Sums of integers wrap around at 64 bits; those of floating
// point are added in an order that the sharding gives.
template <AnyNumber T>
[[nodiscard]] Future<Aggregate<T>> aggregate(const Region<T>& region,
                                             std::type_identity_t<Where<T>> where = {},
                                             Mechanism mechanism = Mechanism::automatic) {
  return aggregated<Aggregate<T>, &unpack_aggregate<T>>(region, "aggregate", where, mechanism);
}
template <AnyNumber T>
[[nodiscard]] Future<SumOf<T>> sum(const Region<T>& region,
                                   std::type_identity_t<Where<T>> where = {},
                                   Mechanism mechanism = Mechanism::automatic) {
  return aggregated<SumOf<T>, &unpack_sum<T>>(region, "sum", where, mechanism);
}
template <AnyNumber T>
[[nodiscard]] Future<std::uint64_t> count(const Region<T>& region,
                                          std::type_identity_t<Where<T>> where = {},
                                          Mechanism mechanism = Mechanism::automatic) {
  return aggregated<std::uint64_t, &unpack_count<T>>(region, "count", where, mechanism);
}
// None if no element lies in the range.
template <AnyNumber T>
[[nodiscard]] Future<std::optional<T>> min(const Region<T>& region,
                                           std::type_identity_t<Where<T>> where = {},
                                           Mechanism mechanism = Mechanism::automatic) {
  return aggregated<std::optional<T>, &unpack_min<T>>(region, "min", where, mechanism);
}
template <AnyNumber T>
[[nodiscard]] Future<std::optional<T>> max(const Region<T>& region,
                                           std::type_identity_t<Where<T>> where = {},
                                           Mechanism mechanism = Mechanism::automatic) {
  return aggregated<std::optional<T>, &unpack_max<T>>(region, "max", where, mechanism);
}

// --- Top-k and histogram ---

// The k largest elements, 1 to kMaxTop, largest first; of equal ones the smaller index first.
template <AnyNumber T>
[[nodiscard]] Future<std::vector<Entry<T>>> top(const Region<T>& region, std::uint32_t k,
                                                Mechanism mechanism = Mechanism::automatic) {
  using Entries = std::vector<Entry<T>>;
  if (const auto here = detail::top_here(region.handle(), number_of<T>, k, mechanism)) {
    return detail::known<Entries>(unpack_top<T>(*here));
  }
  return Future<Entries>(detail::start_top(region.handle(), number_of<T>, k),
                         &reduced_outcome<std::vector<PackedEntry>, Entries, &unpack_top<T>>);
}

template <AnyNumber T>
[[nodiscard]] Future<Histogram> histogram(const Region<T>& region,
                                          std::type_identity_t<Buckets<T>> buckets,
                                          Mechanism mechanism = Mechanism::automatic) {
  const std::uint64_t low = bits_of(buckets.low);
  const std::uint64_t high = bits_of(buckets.high);
  if (const auto here = detail::histogram_here(region.handle(), number_of<T>, low, high,
                                               buckets.count, mechanism)) {
    return detail::known<Histogram>(unpack_histogram(*here));
  }
  return Future<Histogram>(
      detail::start_histogram(region.handle(), number_of<T>, low, high, buckets.count),
      &reduced_outcome<std::vector<std::uint64_t>, Histogram, &unpack_histogram>);
}

// --- With a function of your own ---

// What `function`, written with <godwit/mobile/fold.hpp>, makes of the region:
//   auto count_above = bundle.function<std::uint64_t(ops::TreePart,
//   double)>("count_above").value(); auto n = ops::fold(region, count_above, 0.5).get();
// Spans and string views among the arguments are borrowed until it has ended. What the function
// throws ends it as app_error.
template <class T, class R, class... Params>
[[nodiscard]] Future<R> fold(const Region<T>& region,
                             const Function<R(TreePart, Params...)>& function,
                             std::type_identity_t<Passed<Params>>... args) {
  const std::uint64_t elements = region.size();
  return detail::call_user(region.handle(), {.what = "fold", .count = elements}, false, function,
                           TreePart{region.handle().id(), 0, kTreeFanOut}, args...);
}

}  // namespace godwit::ops
