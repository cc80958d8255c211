// Elements from and to many places, asked for by mobile code: what Region::gather() and
// godwit/ops/movement.hpp are for programs. All of them wait, and so [block].
//
//   const auto words = here.region<std::uint64_t>("words");
//   const std::vector<std::uint64_t> found = godwit::ops::gather(here, words, indices);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "godwit/mobile/operation.hpp"
#include "godwit/mobile/vector.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {
namespace raw {

// What one home is asked for.
struct ShardList {
  std::uint64_t first = 0;  // the index that stands first, for messages
  std::vector<std::uint64_t> offsets;
  std::vector<std::size_t> positions;  // in the list that was asked for
};

// The places of a list by the shards they lie on. Every index is checked.
template <class T>
std::vector<ShardList> by_shard(const char* what, const RegionView<T>& region,
                                std::span<const std::uint64_t> indices) {
  std::vector<ShardList> lists(region.map().shards());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    static_cast<void>(home_of(what, region, indices[i]));
    const ShardPlace place = region.map().locate(indices[i]);
    ShardList& list = lists[place.shard];
    if (list.offsets.empty()) list.first = indices[i];
    list.offsets.push_back(place.offset);
    list.positions.push_back(i);
  }
  return lists;
}

template <class T>
[[nodiscard]] bool is_brief(const ShardList& list) noexcept {
  return list.offsets.size() <= kInlineListed && list.offsets.size() * sizeof(T) <= kInlineBytes;
}

}  // namespace raw

// The elements at these indices, in order; all homes are asked at once. Throws CallFailed: if one
// of them fails, none are returned.
template <class T>
[[nodiscard]] std::vector<T> gather(const Here& here, const RegionView<T>& region,
                                    std::span<const std::uint64_t> indices) {
  using raw::Bytes;
  using Function = Bytes(std::uint64_t, std::uint32_t, std::span<const std::uint64_t>);
  using Call = Operation<Bytes, Bytes>;
  const std::vector<raw::ShardList> lists = raw::by_shard("gather", region, indices);
  std::vector<Call> calls;
  std::vector<std::uint32_t> shards;
  for (std::uint32_t shard = 0; shard < lists.size(); ++shard) {
    const raw::ShardList& list = lists[shard];
    if (list.offsets.empty()) continue;
    const char* const name = raw::is_brief<T>(list) ? "gather" : "gather_bulk";
    calls.push_back(Call(here.call(operation<Function>(here, name), region.home(shard), region.id(),
                                   shard, std::span<const std::uint64_t>(list.offsets)),
                         subject_of("gather", region, list.first), &raw::read_as_is<Bytes>));
    shards.push_back(shard);
  }
  std::vector<T> found(indices.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const raw::ShardList& list = lists[shards[i]];
    const Subject subject = subject_of("gather", region, list.first);
    const Bytes elements = calls[i].get();
    if (elements.size() != list.offsets.size() * sizeof(T)) {
      fail_as(subject, GODWIT_ENDED_REJECTED, kTypeMismatch, true,
              "the home sent too few elements");
    }
    for (std::size_t at = 0; at < list.positions.size(); ++at) {
      found[list.positions[at]] =
          raw::read_element<T>(subject, elements.subspan(at * sizeof(T), sizeof(T)));
    }
  }
  return found;
}

// Adds values[i] to the element indices[i]; an index that stands there twice gets both. All indices
// are checked before the first is sent. Throws CallFailed: additions on other shards than the one
// of the element that it names may have been made.
template <AnyNumber T>
void scatter_add(const Here& here, const RegionView<T>& region,
                 std::span<const std::uint64_t> indices,
                 std::type_identity_t<std::span<const T>> values) {
  using Function =
      void(std::uint64_t, std::uint32_t, std::uint32_t, std::span<const std::uint64_t>, raw::Bytes);
  if (indices.size() != values.size()) {
    refuse(kInvalidArgument, "scatter_add of %zu values to %zu elements", values.size(),
           indices.size());
  }
  const std::vector<raw::ShardList> lists = raw::by_shard("scatter_add", region, indices);
  std::vector<Pending<void>> calls;
  std::vector<std::uint64_t> firsts;
  for (std::uint32_t shard = 0; shard < lists.size(); ++shard) {
    const raw::ShardList& list = lists[shard];
    if (list.offsets.empty()) continue;
    std::vector<T> numbers;
    for (const std::size_t position : list.positions) numbers.push_back(values[position]);
    const char* const name = raw::is_brief<T>(list) ? "scatter_add" : "scatter_add_bulk";
    calls.push_back(here.call(operation<Function>(here, name), region.home(shard), region.id(),
                              shard, static_cast<std::uint32_t>(number_of<T>),
                              std::span<const std::uint64_t>(list.offsets),
                              std::as_bytes(std::span(numbers))));
    firsts.push_back(list.first);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CallOutcome<void> outcome = calls[i].outcome();
    if (!outcome) {
      fail_as(subject_of("scatter_add", region, firsts[i]), outcome.ending, outcome.reason,
              outcome.may_have_started, outcome.message);
    }
  }
}

// Writes the same values to the same place of every shard, along a tree. Throws CallFailed: if
// nodes did not answer it names the shards of which it is not known whether they were written.
template <class T>
void multicast(const Here& here, const RegionView<T>& region, std::uint64_t offset,
               std::type_identity_t<std::span<const T>> values) {
  using Missing = std::vector<std::uint32_t>;
  using Function = Missing(TreePart, std::uint64_t, raw::Bytes);
  const Subject subject = subject_of("multicast", region, offset);
  for (std::uint32_t shard = 0; shard < region.map().shards(); ++shard) {
    const std::uint64_t there = region.map().shard_elements(shard, region.size());
    if (values.size() <= there && offset <= there - values.size()) continue;
    fail_as(subject, GODWIT_ENDED_REJECTED, kInvalidArgument, false, "a shard has fewer elements");
  }
  const TreePart whole{region.id(), 0, kTreeFanOut};
  auto call = here.call(operation<Function>(here, "multicast"), home_of_shard(subject, region, 0),
                        whole, offset, std::as_bytes(values));
  const CallOutcome<Missing> outcome = call.outcome();
  if (!outcome) {
    fail_as(subject, outcome.ending, outcome.reason, outcome.may_have_started, outcome.message);
  }
  if (outcome.value.size() == 1) return;
  char text[FailureText::kLimit + 1];
  int size = std::snprintf(text, sizeof text, "written, but for shards");
  for (std::size_t i = 1; i < outcome.value.size() && size < 80; ++i) {
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "%s %u",
                          i == 1 ? "" : ",", outcome.value[i]);
  }
  std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size),
                ", of which it is not known");
  const std::uint32_t reason = outcome.value.empty() ? kTypeMismatch : outcome.value[0];
  fail_as(subject, reason == kNodeLost ? GODWIT_ENDED_NODE_LOST : GODWIT_ENDED_REJECTED, reason,
          true, text);
}

}  // namespace godwit::ops
