// Reductions by the calling thread: what the mobile functions do at the data, done here.
#include <optional>
#include <utility>
#include <vector>

#include "godwit/detail/op_calls.hpp"
#include "ops/decide.hpp"
#include "ops/mobile/reductions.hpp"
#include "ops/shard_reader.hpp"

namespace godwit::detail {

using ops::Attachment;
using ops::Mechanism;
using ops::ShardReader;

namespace {

// work(T{}) with the type that `number` stands for.
template <class Work>
auto with_type(ops::Number number, Work&& work) {
  switch (number) {
    case ops::Number::u8: return work(std::uint8_t{});
    case ops::Number::u16: return work(std::uint16_t{});
    case ops::Number::u32: return work(std::uint32_t{});
    case ops::Number::u64: return work(std::uint64_t{});
    case ops::Number::i8: return work(std::int8_t{});
    case ops::Number::i16: return work(std::int16_t{});
    case ops::Number::i32: return work(std::int32_t{});
    case ops::Number::i64: return work(std::int64_t{});
    case ops::Number::f32: return work(float{});
    case ops::Number::f64: break;
  }
  return work(double{});
}

// How the elements are to be read here; none: code reduces them where they are.
struct Reading {
  std::optional<Outcome<void>> refused{};
  bool directly = false;
};
std::optional<Reading> reading_of(const RegionHandle& handle, const char* what, Mechanism asked) {
  const Attachment& region = handle.attachment();
  if (asked == Mechanism::direct && !region.is_all_mapped()) {
    return Reading{.refused = tl::unexpected(ops::not_mapped(region, what))};
  }
  const Mechanism chosen =
      ops::decide(handle, {.operation = ops::Operation::reduce, .amount = handle.size()}, asked);
  if (chosen == Mechanism::code) return std::nullopt;
  const Reach reach = asked == Mechanism::automatic ? handle.reach() : ops::reach_for(asked);
  return Reading{.directly = reach == Reach::automatic};
}

// In the order in which the tree of the mobile function joins: sums of floating point come out the
// same.
template <class T>
void join_below(std::vector<ops::Aggregate<T>>& shards, std::size_t shard) {
  const std::size_t first = shard * ops::kTreeFanOut + 1;
  for (std::size_t child = first; child < first + ops::kTreeFanOut && child < shards.size();
       ++child) {
    join_below(shards, child);
    shards[shard].add(shards[child]);
  }
}

}  // namespace

std::optional<Outcome<ops::PackedAggregate>> aggregate_here(const RegionHandle& handle,
                                                            const char* what, ops::Number number,
                                                            std::uint64_t at_least,
                                                            std::uint64_t at_most,
                                                            Mechanism mechanism) {
  using Found = Outcome<ops::PackedAggregate>;
  const auto reading = reading_of(handle, what, mechanism);
  if (!reading) return std::nullopt;
  if (reading->refused) return Found(tl::unexpected(reading->refused->error()));
  const Attachment& region = handle.attachment();
  const ShardReader reader(region, what, reading->directly);
  return with_type(number, [&]<class T>(T) -> Found {
    const ops::Where<T> where{ops::number_from<T>(at_least), ops::number_from<T>(at_most)};
    std::vector<ops::Aggregate<T>> shards;
    for (std::uint32_t shard = 0; shard < region.map().shards(); ++shard) {
      Outcome<void> read;
      shards.push_back(
          ops::aggregate_of<T>(where, [&](auto&& visit) { read = reader.each<T>(shard, visit); }));
      if (!read) return tl::unexpected(std::move(read).error());
    }
    join_below(shards, 0);
    return shards.front().packed();
  });
}

std::optional<Outcome<std::vector<ops::PackedEntry>>> top_here(const RegionHandle& handle,
                                                               ops::Number number, std::uint32_t k,
                                                               Mechanism mechanism) {
  using Found = Outcome<std::vector<ops::PackedEntry>>;
  if (k == 0 || k > ops::kMaxTop) return std::nullopt;  // the function says what is wrong
  const auto reading = reading_of(handle, "top", mechanism);
  if (!reading) return std::nullopt;
  if (reading->refused) return Found(tl::unexpected(reading->refused->error()));
  const Attachment& region = handle.attachment();
  const ShardReader reader(region, "top", reading->directly);
  return with_type(number, [&]<class T>(T) -> Found {
    std::vector<ops::PackedEntry> best;
    for (std::uint32_t shard = 0; shard < region.map().shards(); ++shard) {
      Outcome<void> read;
      const auto more = ops::top_of<T>(
          k, [&](auto&& visit) { read = reader.each<T>(shard, visit); },
          [&](std::uint64_t offset) { return region.map().index_at({shard, offset}); });
      if (!read) return tl::unexpected(std::move(read).error());
      best.insert(best.end(), more.begin(), more.end());
    }
    ops::keep_top<T>(best, k);
    return best;
  });
}

std::optional<Outcome<std::vector<std::uint64_t>>> histogram_here(
    const RegionHandle& handle, ops::Number number, std::uint64_t low, std::uint64_t high,
    std::uint32_t buckets, Mechanism mechanism) {
  using Found = Outcome<std::vector<std::uint64_t>>;
  const bool sensible = with_type(
      number, [&]<class T>(T) { return ops::number_from<T>(low) < ops::number_from<T>(high); });
  if (!sensible || buckets == 0 || buckets > ops::kMaxBuckets) return std::nullopt;  // as above
  const auto reading = reading_of(handle, "histogram", mechanism);
  if (!reading) return std::nullopt;
  if (reading->refused) return Found(tl::unexpected(reading->refused->error()));
  const Attachment& region = handle.attachment();
  const ShardReader reader(region, "histogram", reading->directly);
  return with_type(number, [&]<class T>(T) -> Found {
    const ops::BucketPlaces<T> places(ops::number_from<T>(low), ops::number_from<T>(high), buckets);
    std::vector<std::uint64_t> counts(std::size_t{buckets} + 2);
    for (std::uint32_t shard = 0; shard < region.map().shards(); ++shard) {
      Outcome<void> read =
          reader.each<T>(shard, [&](std::uint64_t, T value) { ++counts[places.place_of(value)]; });
      if (!read) return tl::unexpected(std::move(read).error());
    }
    return counts;
  });
}

}  // namespace godwit::detail
