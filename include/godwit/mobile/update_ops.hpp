// Changes of elements wherever they lie, asked for by mobile code: what godwit/ops/update.hpp and
// log.hpp are for programs. Each is one call to the element's home; get() [blocks].
//
//   const auto peaks = here.region<double>("peaks");
//   const double before = godwit::ops::accumulate(here, peaks, 7, godwit::ops::Join::max, x).get();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <type_traits>
#include <vector>

#include "godwit/mobile/operation.hpp"
#include "godwit/mobile/vector.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// Joins a number to an element: adds it, or keeps the smaller or the larger. What was there before.
template <AnyNumber T>
Operation<T, std::uint64_t> accumulate(const Here& here, const RegionView<T>& region,
                                       std::uint64_t index, Join join,
                                       std::type_identity_t<T> value) {
  using Function = std::uint64_t(std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t,
                                 std::uint32_t, std::uint64_t);
  const Node home = home_of("accumulate", region, index);
  const ShardPlace place = region.map().locate(index);
  return {here.call(operation<Function>(here, "accumulate"), home, region.id(), place.shard,
                    place.offset, static_cast<std::uint32_t>(number_of<T>),
                    static_cast<std::uint32_t>(join), bits_of(value)),
          subject_of("accumulate", region, index), &raw::read_number<T>};
}

namespace raw {

template <class T>
Operation<T, Bytes> start_put_if(const Here& here, const RegionView<T>& region, std::uint64_t index,
                                 std::uint32_t from, Bytes expected, const T& desired) {
  static_assert(sizeof(T) <= kMaxUpdateBytes, "godwit: too large to be changed in one step");
  using Function = Bytes(std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t, Bytes, Bytes);
  const Node home = home_of("put_if", region, index);
  const ShardPlace place = region.map().locate(index);
  return {here.call(operation<Function>(here, "put_if"), home, region.id(), place.shard,
                    place.offset, from, expected, bytes_of_value(desired)),
          subject_of("put_if", region, index), &read_element<T>};
}

}  // namespace raw

// Stores `desired` if the element's bytes equal those of `expected`, or only those of one member,
// such as a version; returns the element as it was before.
template <class T>
Operation<T, raw::Bytes> put_if(const Here& here, const RegionView<T>& region, std::uint64_t index,
                                const std::type_identity_t<T>& expected,
                                const std::type_identity_t<T>& desired) {
  return raw::start_put_if<T>(here, region, index, 0, raw::bytes_of_value(expected), desired);
}
template <class T, class Member>
Operation<T, raw::Bytes> put_if(const Here& here, const RegionView<T>& region, std::uint64_t index,
                                Member T::* member, const std::type_identity_t<Member>& expected,
                                const std::type_identity_t<T>& desired) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&desired);
  const auto* const field = reinterpret_cast<const std::byte*>(&(desired.*member));
  return raw::start_put_if<T>(here, region, index, static_cast<std::uint32_t>(field - begin),
                              raw::bytes_of_value(expected), desired);
}

namespace raw {

// Throws CallFailed: invalid_argument unless there are 1 to kMaxSwaps of them, of 8 KiB together at
// most, all different and on one shard.
template <class T>
void check_swaps(const RegionView<T>& region, std::span<const Swap<T>> swaps) {
  const auto refuse_at = [&](std::uint64_t index, const char* why) {
    fail_as(subject_of("compare_swap_all", region, index), GODWIT_ENDED_REJECTED, kInvalidArgument,
            false, why);
  };
  if (swaps.empty() || swaps.size() > kMaxSwaps || swaps.size() * sizeof(T) > kMaxUpdateBytes) {
    refuse_at(swaps.empty() ? 0 : swaps.front().index, "it takes 1 to 64 elements, of 8 KiB");
  }
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    const std::uint64_t index = swaps[i].index;
    static_cast<void>(home_of("compare_swap_all", region, index));
    if (region.map().locate(index).shard != region.map().locate(swaps.front().index).shard) {
      refuse_at(index,
                "it lies on another shard than the first; only one home can make several "
                "changes one step");
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (swaps[before].index == index) refuse_at(index, "it stands there twice");
    }
  }
}

template <class T>
std::vector<T> read_elements(const Subject& subject, const Bytes& bytes) {
  std::vector<T> values;
  if (bytes.size() % sizeof(T) != 0) {
    fail_as(subject, GODWIT_ENDED_REJECTED, kTypeMismatch, true,
            "the home sent something that is no whole number of elements");
  }
  values.reserve(bytes.size() / sizeof(T));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    values.push_back(read_element<T>(subject, bytes.subspan(at, sizeof(T))));
  }
  return values;
}

}  // namespace raw

// Stores all that is desired if all that is expected is there; returns the elements as they were
// before, in order.
template <class T>
Operation<std::vector<T>, raw::Bytes> compare_swap_all(
    const Here& here, const RegionView<T>& region,
    std::type_identity_t<std::span<const Swap<T>>> swaps) {
  using raw::Bytes;
  using Function =
      Bytes(std::uint64_t, std::uint32_t, std::span<const std::uint64_t>, Bytes, Bytes);
  raw::check_swaps(region, swaps);
  const std::uint64_t first = swaps.front().index;
  std::array<std::uint64_t, kMaxSwaps> offsets{};
  std::vector<T> expected;
  std::vector<T> desired;
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    offsets[i] = region.map().locate(swaps[i].index).offset;
    expected.push_back(swaps[i].expected);
    desired.push_back(swaps[i].desired);
  }
  return {here.call(operation<Function>(here, "compare_swap_all"), region.owner(first), region.id(),
                    region.map().locate(first).shard,
                    std::span<const std::uint64_t>(offsets.data(), swaps.size()),
                    std::as_bytes(std::span(expected)), std::as_bytes(std::span(desired))),
          subject_of("compare_swap_all", region, first), &raw::read_elements<T>};
}

// A log that a program made (godwit/ops/log.hpp), as mobile code sees it.
template <class T>
class LogView {
 public:
  // Throws CallFailed: as Here::region().
  LogView(const Here& here, std::string_view name)
      : records_(here.region<T>(name)), counts_(counts_of(here, name)) {}

  // Appends to a shard: one record, or several side by side, of 8 KiB together at most. The index
  // of the first in records(). resource_exhausted: not all of them fit, and none was appended.
  Operation<std::uint64_t> append(const Here& here, std::uint32_t shard,
                                  std::span<const T> values) const {
    using Function = std::uint64_t(std::uint64_t, std::uint64_t, std::uint32_t, raw::Bytes);
    if (shard >= records_.map().shards()) {
      refuse(kInvalidArgument, "append to shard %u of log '%.*s': it has %u shards", shard,
             static_cast<int>(records_.name().size()), records_.name().data(),
             records_.map().shards());
    }
    const Subject subject = subject_of("append", records_, records_.map().index_at({shard, 0}));
    return {here.call(operation<Function>(here, "append"), home_of_shard(subject, records_, shard),
                      records_.id(), counts_.id(), shard, std::as_bytes(values)),
            subject, &raw::read_as_is<std::uint64_t>};
  }
  Operation<std::uint64_t> append(const Here& here, std::uint32_t shard, const T& value) const {
    return append(here, shard, std::span(&value, 1));
  }

  [[nodiscard]] const RegionView<T>& records() const noexcept { return records_; }

 private:
  static RegionView<std::uint64_t> counts_of(const Here& here, std::string_view name) {
    char counts[128];
    const int size = std::snprintf(counts, sizeof counts, "%.*s.count",
                                   static_cast<int>(name.size()), name.data());
    const auto fits = static_cast<std::size_t>(size) < sizeof counts;
    return here.region<std::uint64_t>(
        std::string_view(counts, fits ? static_cast<std::size_t>(size) : sizeof counts - 1));
  }

  RegionView<T> records_;
  RegionView<std::uint64_t> counts_;
};

}  // namespace godwit::ops
