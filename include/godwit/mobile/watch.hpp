// Running a function when an element changes, asked for by mobile code: what godwit/ops/watch.hpp
// is for programs.
//
//   // Runs at the element's home.
//   std::uint64_t react(godwit::Here& here, godwit::ops::Element at, std::uint64_t value) { ... }
//   GODWIT_EXPORT(react);
//
//   auto reaction = godwit::ops::watch<react>(here, words, {.index = 7, .last_seen = 0});
//   reaction.get();   // [blocks]
#pragma once

#include <cstdint>
#include <utility>

#include "godwit/mobile/operation.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// Function is of this bundle and takes Here&, an Element, a T and `args`. What it is given is the
// element as the home found it, which differs from `last_seen`. Destroying the Pending ends the
// watch. Throws CallFailed: as home_of().
template <auto Function, class T, class... Args>
auto watch(const Here& here, const RegionView<T>& region,
           const Change<std::type_identity_t<T>>& change, Args&&... args) {
  static_assert(godwit::detail::kOneWord<T>,
                "godwit: only elements of 1, 2, 4 or 8 bytes are watched");
  const Element at{region.id(), change.index};
  const godwit_change wanted{region.id(), change.index, bits_of(change.last_seen), sizeof(T),
                             sizeof(Element)};
  return here.call_when(function_ref<Function>, home_of("watch", region, change.index), wanted, at,
                        change.last_seen, std::forward<Args>(args)...);
}

}  // namespace godwit::ops
