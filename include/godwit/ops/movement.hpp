// Elements from a program to many places of a region. (Those from many places are
// Region::gather().)
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "godwit/detail/op_calls.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// Adds values[i] to the element indices[i]; an index that stands there twice gets both. Each
// addition is atomic with everything else that changes the element; integers wrap around. All
// indices are checked before the first is sent. If it fails, additions on other shards than the one
// that the failure names may have been made. Both spans stay until it has ended.
template <AnyNumber T>
Future<void> scatter_add(const Region<T>& region, std::span<const std::uint64_t> indices,
                         std::type_identity_t<std::span<const T>> values) {
  return detail::finish_later(detail::start_scatter_add(region.handle(), indices,
                                                        std::as_bytes(values), number_of<T>),
                              std::monostate{})
      .then([](auto outcome) {
        return outcome ? Outcome<void>() : Outcome<void>(tl::unexpected(outcome.error()));
      });
}

// Writes the same values to the same place of every shard, `offset` elements from its beginning,
// along a tree: the program sends them once, and each node passes them on to four others at most
// before it writes its own. It has ended when all have. If some did not answer it fails, with
// node_lost if a node was, and names the shards of which it is not known whether they were written;
// all others were. The values stay until it has ended.
template <class T>
Future<void> multicast(const Region<T>& region, std::uint64_t offset,
                       std::type_identity_t<std::span<const T>> values) {
  if (auto fits = detail::check_multicast(region.handle(), offset, values.size()); !fits) {
    return detail::known<void>(fits);
  }
  return Future<void>(detail::start_multicast(region.handle(), offset, std::as_bytes(values)),
                      &detail::multicast_outcome);
}

}  // namespace godwit::ops
