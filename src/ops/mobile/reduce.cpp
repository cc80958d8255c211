// Reductions over all shards of a region, along a tree.
#include <godwit/mobile/fold.hpp>
#include <godwit/mobile/vector.hpp>

#include "numbers.hpp"
#include "reductions.hpp"

namespace godwit::ops {
// The tree is the same for all types; only what is done with elements is made for each.
PackedAggregate aggregate(Here& here, TreePart part, std::uint32_t number, std::uint64_t at_least,
                          std::uint64_t at_most) {
  return fold_tree<aggregate>(
      here, part,
      [&] {
        return with_number(number, [&]<class T>(T) {
          const Where<T> where{number_from<T>(at_least), number_from<T>(at_most)};
          const auto region = here.region<T>(part.region);
          return aggregate_of<T>(where, [&](auto&& visit) { each(region, visit); }).packed();
        });
      },
      [&](PackedAggregate& total, const PackedAggregate& below) {
        total = with_number(number, [&]<class T>(T) {
          Aggregate<T> both = Aggregate<T>::from(total);
          both.add(Aggregate<T>::from(below));
          return both.packed();
        });
      },
      number, at_least, at_most);
}
GODWIT_EXPORT(aggregate);

// The k largest elements of this part of the tree, in order.
std::vector<PackedEntry> top(Here& here, TreePart part, std::uint32_t number, std::uint32_t k) {
  if (k == 0 || k > kMaxTop) refuse(kInvalidArgument, "top has a k of 1 to %u, not %u", kMaxTop, k);
  auto best = fold_tree<top>(
      here, part,
      [&] {
        return with_number(number, [&]<class T>(T) {
          const auto region = here.region<T>(part.region);
          return top_of<T>(
              k, [&](auto&& visit) { each(region, visit); },
              [&](std::uint64_t offset) { return region.index_of(offset); });
        });
      },
      [](std::vector<PackedEntry>& total, const std::vector<PackedEntry>& below) {
        total.insert(total.end(), below.begin(), below.end());
      },
      number, k);
  with_number(number, [&]<class T>(T) { keep_top<T>(best, k); });
  return best;
}
GODWIT_EXPORT(top);

// How many elements lie below, in each bucket, and above; what is not a number lies above.
std::vector<std::uint64_t> histogram(Here& here, TreePart part, std::uint32_t number,
                                     std::uint64_t low, std::uint64_t high, std::uint32_t buckets) {
  if (buckets == 0 || buckets > kMaxBuckets) {
    refuse(kInvalidArgument, "a histogram has 1 to %u buckets, not %u", kMaxBuckets, buckets);
  }
  return fold_tree<histogram>(
      here, part,
      [&] {
        std::vector<std::uint64_t> counts(std::size_t{buckets} + 2);
        with_number(number, [&]<class T>(T) {
          if (!(number_from<T>(low) < number_from<T>(high)))
            refuse(kInvalidArgument, "the low end of a histogram lies below the high");
          const BucketPlaces<T> places(number_from<T>(low), number_from<T>(high), buckets);
          each(here.region<T>(part.region),
               [&](std::uint64_t, T value) { ++counts[places.place_of(value)]; });
        });
        return counts;
      },
      [](std::vector<std::uint64_t>& total, const std::vector<std::uint64_t>& below) {
        for (std::size_t i = 0; i < total.size() && i < below.size(); ++i) total[i] += below[i];
      },
      number, low, high, buckets);
}
GODWIT_EXPORT(histogram);

}  // namespace godwit::ops
