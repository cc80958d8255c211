// Reductions over all shards of a region, along a tree.
#include <godwit/mobile/fold.hpp>
#include <godwit/mobile/vector.hpp>

#include <algorithm>

#include "numbers.hpp"

namespace godwit::ops {
namespace {

// Larger first; of equal ones the smaller index.
template <class T>
bool comes_before(const PackedEntry& a, const PackedEntry& b) noexcept {
  const T left = number_from<T>(a.value);
  const T right = number_from<T>(b.value);
  return left > right || (left == right && a.index < b.index);
}

// The first `k` of this node's elements, in no order. A heap of those seen so far has the last of
// them on top: most elements cost one comparison.
template <class T>
std::vector<PackedEntry> top_here(const RegionView<T>& region, std::size_t k) {
  std::vector<PackedEntry> best;
  each(region, [&](std::uint64_t offset, T value) {
    if (value != value) return;
    if (best.size() == k && !(value >= number_from<T>(best.front().value))) return;
    const PackedEntry entry{region.index_of(offset), bits_of(value)};
    if (best.size() == k) {
      if (!comes_before<T>(entry, best.front())) return;
      std::pop_heap(best.begin(), best.end(), comes_before<T>);
      best.back() = entry;
    } else {
      best.push_back(entry);
    }
    std::push_heap(best.begin(), best.end(), comes_before<T>);
  });
  return best;
}

// Equal parts of [low, high), after one for what lies below and before one for what lies above.
template <class T>
class Buckets {
 public:
  Buckets(T low, T high, std::uint32_t count) : low_(low), high_(high), count_(count) {
    if (!(low < high)) refuse(kInvalidArgument, "the low end of a histogram lies below the high");
  }
  [[nodiscard]] std::uint32_t place_of(T value) const noexcept {
    if (value < low_) return 0;
    if (!(value < high_)) return count_ + 1;
    if constexpr (std::is_integral_v<T>) {
      const auto above = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(low_);
      const auto width = static_cast<std::uint64_t>(high_) - static_cast<std::uint64_t>(low_);
      return 1 + static_cast<std::uint32_t>(static_cast<unsigned __int128>(above) * count_ / width);
    } else {
      const double part = (static_cast<double>(value) - static_cast<double>(low_)) /
                          (static_cast<double>(high_) - static_cast<double>(low_));
      return 1 + std::min(static_cast<std::uint32_t>(part * count_), count_ - 1);
    }
  }

 private:
  T low_;
  T high_;
  std::uint32_t count_;
};

}  // namespace

// The tree is the same for all types; only what is done with elements is made for each.
PackedAggregate aggregate(Here& here, TreePart part, std::uint32_t number, std::uint64_t at_least,
                          std::uint64_t at_most) {
  return fold_tree<aggregate>(
      here, part,
      [&] {
        return with_number(number, [&]<class T>(T) {
          const Where<T> where{number_from<T>(at_least), number_from<T>(at_most)};
          Aggregate<T> found;
          each(here.region<T>(part.region), [&](std::uint64_t, T value) {
            if (where.holds(value)) found.add(value);
          });
          return found.packed();
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
        return with_number(number,
                           [&]<class T>(T) { return top_here(here.region<T>(part.region), k); });
      },
      [](std::vector<PackedEntry>& total, const std::vector<PackedEntry>& below) {
        total.insert(total.end(), below.begin(), below.end());
      },
      number, k);
  with_number(number, [&]<class T>(T) { std::sort(best.begin(), best.end(), comes_before<T>); });
  if (best.size() > k) best.resize(k);
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
          const Buckets<T> places(number_from<T>(low), number_from<T>(high), buckets);
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
