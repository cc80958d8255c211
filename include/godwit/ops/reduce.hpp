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

// --- For the library: replies, read ---

template <AnyNumber T>
Outcome<Aggregate<T>> aggregate_outcome(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(detail::region_failure(call));
  const auto packed = detail::outcome_of<PackedAggregate>(std::move(call));
  if (!packed) return tl::unexpected(packed.error());
  return Aggregate<T>::from(*packed);
}
template <AnyNumber T>
Outcome<SumOf<T>> sum_outcome(detail::CallHandle call) {
  const auto all = aggregate_outcome<T>(std::move(call));
  if (!all) return tl::unexpected(all.error());
  return all->sum;
}
template <AnyNumber T>
Outcome<std::uint64_t> count_outcome(detail::CallHandle call) {
  const auto all = aggregate_outcome<T>(std::move(call));
  if (!all) return tl::unexpected(all.error());
  return all->count;
}
template <AnyNumber T>
Outcome<std::optional<T>> min_outcome(detail::CallHandle call) {
  const auto all = aggregate_outcome<T>(std::move(call));
  if (!all) return tl::unexpected(all.error());
  return all->count == 0 ? std::optional<T>() : all->min;
}
template <AnyNumber T>
Outcome<std::optional<T>> max_outcome(detail::CallHandle call) {
  const auto all = aggregate_outcome<T>(std::move(call));
  if (!all) return tl::unexpected(all.error());
  return all->count == 0 ? std::optional<T>() : all->max;
}
template <AnyNumber T>
Outcome<std::vector<Entry<T>>> top_outcome(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(detail::region_failure(call));
  const auto packed = detail::outcome_of<std::vector<PackedEntry>>(std::move(call));
  if (!packed) return tl::unexpected(packed.error());
  std::vector<Entry<T>> entries;
  entries.reserve(packed->size());
  for (const PackedEntry& entry : *packed) {
    entries.push_back({entry.index, number_from<T>(entry.value)});
  }
  return entries;
}
inline Outcome<Histogram> histogram_outcome(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(detail::region_failure(call));
  auto counts = detail::outcome_of<std::vector<std::uint64_t>>(std::move(call));
  if (!counts) return tl::unexpected(counts.error());
  if (counts->size() < 2) {
    return tl::unexpected(
        Failure{Ending::rejected, ErrorCode::bad_format, true, "the root sent no histogram"});
  }
  return Histogram{counts->front(), {counts->begin() + 1, counts->end() - 1}, counts->back()};
}

// --- Filter and aggregate ---

// Of the elements that lie in a range. Sums of integers wrap around at 64 bits; those of floating
// point are added in an order that the sharding gives.
template <AnyNumber T>
[[nodiscard]] Future<Aggregate<T>> aggregate(const Region<T>& region,
                                             std::type_identity_t<Where<T>> where = {}) {
  return Future<Aggregate<T>>(
      detail::start_aggregate(region.handle(), "aggregate", number_of<T>, bits_of(where.at_least),
                              bits_of(where.at_most)),
      &aggregate_outcome<T>);
}
template <AnyNumber T>
[[nodiscard]] Future<SumOf<T>> sum(const Region<T>& region,
                                   std::type_identity_t<Where<T>> where = {}) {
  return Future<SumOf<T>>(detail::start_aggregate(region.handle(), "sum", number_of<T>,
                                                  bits_of(where.at_least), bits_of(where.at_most)),
                          &sum_outcome<T>);
}
template <AnyNumber T>
[[nodiscard]] Future<std::uint64_t> count(const Region<T>& region,
                                          std::type_identity_t<Where<T>> where = {}) {
  return Future<std::uint64_t>(
      detail::start_aggregate(region.handle(), "count", number_of<T>, bits_of(where.at_least),
                              bits_of(where.at_most)),
      &count_outcome<T>);
}
// None if no element lies in the range.
template <AnyNumber T>
[[nodiscard]] Future<std::optional<T>> min(const Region<T>& region,
                                           std::type_identity_t<Where<T>> where = {}) {
  return Future<std::optional<T>>(
      detail::start_aggregate(region.handle(), "min", number_of<T>, bits_of(where.at_least),
                              bits_of(where.at_most)),
      &min_outcome<T>);
}
template <AnyNumber T>
[[nodiscard]] Future<std::optional<T>> max(const Region<T>& region,
                                           std::type_identity_t<Where<T>> where = {}) {
  return Future<std::optional<T>>(
      detail::start_aggregate(region.handle(), "max", number_of<T>, bits_of(where.at_least),
                              bits_of(where.at_most)),
      &max_outcome<T>);
}

// --- Top-k and histogram ---

// The k largest elements, 1 to kMaxTop, largest first; of equal ones the smaller index first.
template <AnyNumber T>
[[nodiscard]] Future<std::vector<Entry<T>>> top(const Region<T>& region, std::uint32_t k) {
  return Future<std::vector<Entry<T>>>(detail::start_top(region.handle(), number_of<T>, k),
                                       &top_outcome<T>);
}

template <AnyNumber T>
[[nodiscard]] Future<Histogram> histogram(const Region<T>& region,
                                          std::type_identity_t<Buckets<T>> buckets) {
  return Future<Histogram>(
      detail::start_histogram(region.handle(), number_of<T>, bits_of(buckets.low),
                              bits_of(buckets.high), buckets.count),
      &histogram_outcome);
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
