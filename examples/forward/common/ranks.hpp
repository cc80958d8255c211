// Ranks, and how their parts of a result come together on the first of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/need.hpp"
#include "godwit/block_map.hpp"
#include "godwit/exchange.hpp"

namespace gallery {

// Runs body(group) on every rank; what it returned on rank 0.
template <class Body>
auto on_ranks(godwit::Rank ranks, const Body& body) {
  std::invoke_result_t<const Body&, godwit::Group&> result{};
  need(godwit::run_ranks(ranks, [&](godwit::Group& group) -> godwit::Status {
    auto mine = body(group);
    if (group.rank() == 0) result = std::move(mine);
    return {};
  }));
  return result;
}

// The same for a program's ranks: threads of this process or, if `godwit ranks` has started it, the
// processes that it has started. `ranks` is how many there are. Nothing, where this process is not
// rank 0.
template <class Body>
std::optional<std::invoke_result_t<const Body&, godwit::Group&>> on_program_ranks(
    godwit::Rank& ranks, const Body& body) {
  auto process = godwit::Group::from_environment();
  if (!process && process.error().code == godwit::ErrorCode::not_found) {
    return on_ranks(ranks, body);
  }
  godwit::Group group = need(std::move(process));
  ranks = group.ranks();
  auto mine = body(group);
  if (group.rank() != 0) return std::nullopt;
  return mine;
}

// The sum of the ranks' numbers, on every rank.
inline std::uint64_t sum(godwit::Group& group, std::uint64_t mine) {
  return need(godwit::sum_over_ranks(group, std::span(&mine, 1)))[0];
}

// How many items keep all ranks busy: the same on every rank, wherever each of them runs, so that
// all make as many rounds.
template <class Place>
std::int64_t items_at_once(godwit::Group& group) {
  return static_cast<std::int64_t>(sum(group, std::uint64_t{Place::kItemsAtOnce}));
}

// A slice of a rank's part.
struct Slice {
  godwit::Rank from = 0;
  std::uint64_t at = 0;
  std::uint64_t of = 0;
};

// The parts of all ranks, one after the other, on rank 0; elsewhere nothing. Items with a tail have
// any length: here a slice of an array.
template <class T>
std::vector<T> gather(godwit::Group& group, const std::vector<T>& mine) {
  constexpr std::size_t kSlice = (std::size_t{1} << 20) / sizeof(T);
  auto exchange = need(godwit::Exchange<godwit::Tailed<Slice, T>>::create(group));
  for (std::size_t at = 0; at < mine.size(); at += kSlice) {
    const std::size_t length = std::min(kSlice, mine.size() - at);
    exchange.emit(Slice{.from = group.rank(), .at = at, .of = mine.size()},
                  std::span<const T>(mine).subspan(at, length), 0);
  }
  std::vector<std::vector<T>> parts(static_cast<std::size_t>(group.ranks()));
  need(exchange.run([&](const godwit::WithTail<Slice, T>& slice, auto&) {
    std::vector<T>& part = parts[static_cast<std::size_t>(slice.head.from)];
    part.resize(slice.head.of);
    std::copy(slice.tail.begin(), slice.tail.end(),
              part.begin() + static_cast<std::ptrdiff_t>(slice.head.at));
  }));
  std::vector<T> all;
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace gallery
