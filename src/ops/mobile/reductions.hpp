// What reductions make of one shard's elements; known to mobile code and clients alike.
//
// `each(visit)` calls visit(offset, value) for every element of the shard, in the order of offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "godwit/ops/parts.hpp"

namespace godwit::ops {

template <class T, class Each>
[[nodiscard]] Aggregate<T> aggregate_of(const Where<T>& where, Each&& each) {
  Aggregate<T> found;
  each([&](std::uint64_t, T value) {
    if (where.holds(value)) found.add(value);
  });
  return found;
}

// Larger first; of equal ones the smaller index.
template <class T>
[[nodiscard]] bool comes_before(const PackedEntry& a, const PackedEntry& b) noexcept {
  const T left = number_from<T>(a.value);
  const T right = number_from<T>(b.value);
  return left > right || (left == right && a.index < b.index);
}

// The first `k` elements, in no order. A heap of those seen so far has the last of them on top:
// most elements cost one comparison. index_of(offset) is an element's index in its region.
template <class T, class Each, class IndexOf>
[[nodiscard]] std::vector<PackedEntry> top_of(std::size_t k, Each&& each, IndexOf&& index_of) {
  std::vector<PackedEntry> best;
  each([&](std::uint64_t offset, T value) {
    if (value != value) return;
    if (best.size() == k && !(value >= number_from<T>(best.front().value))) return;
    const PackedEntry entry{index_of(offset), bits_of(value)};
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

// Orders what several shards came to, and keeps the first `k`.
template <class T>
void keep_top(std::vector<PackedEntry>& entries, std::size_t k) {
  std::sort(entries.begin(), entries.end(), comes_before<T>);
  if (entries.size() > k) entries.resize(k);
}

// Equal parts of [low, high), after one for what lies below and before one for what lies above. The
// low end lies below the high one.
template <class T>
class BucketPlaces {
 public:
  BucketPlaces(T low, T high, std::uint32_t count) : low_(low), high_(high), count_(count) {}
  [[nodiscard]] std::uint32_t place_of(T value) const noexcept {
    if (value < low_) return 0;
    if (!(value < high_)) return count_ + 1;
    if constexpr (std::is_integral_v<T>) {
      const auto above = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(low_);
      const auto width = static_cast<std::uint64_t>(high_) - static_cast<std::uint64_t>(low_);
      __extension__ using Wide = unsigned __int128;
      return 1 + static_cast<std::uint32_t>(static_cast<Wide>(above) * count_ / width);
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

}  // namespace godwit::ops
