// Changing one element at its home, as one step.
//
//   // Keeps the larger of what is there and `value`.
//   double raise(godwit::Here& here, godwit::ops::Element at, double value) {
//     return godwit::ops::update<double>(here, at, [&](double x) { return std::max(x, value); });
//   }
//   GODWIT_EXPORT(raise, inline_);
//
// A program calls it with godwit::ops::update (godwit/ops/update.hpp).
#pragma once

#include <cstdint>
#include <cstring>

#include "godwit/mobile/here.hpp"
#include "godwit/mobile/refuse.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/ops/parts.hpp"

namespace godwit::ops {

// Makes `*at` change(*at) and returns what was there before. An element of 1, 2, 4 or 8 bytes is
// changed with one atomic instruction, so `change` may run several times. A larger one is read and
// written: then only functions exported with inline_ may do this, which a node runs one at a time.
template <class T, class Change>
T change_element(T* at, Change&& change) {
  if constexpr (detail::kOneWord<T>) {
    using Word = typename detail::WordOf<sizeof(T)>::type;
    auto* const word = reinterpret_cast<Word*>(at);
    Word found = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    for (;;) {
      T before;
      std::memcpy(&before, &found, sizeof before);
      const T after = change(before);
      Word wanted;
      std::memcpy(&wanted, &after, sizeof wanted);
      if (__atomic_compare_exchange_n(word, &found, wanted, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
        return before;
      }
    }
  } else {
    const T before = detail::load_element(at);
    detail::store_element(at, change(before));
    return before;
  }
}

// The same for an element of this node's shard. Throws CallFailed: as Here::writable_region(), and
// invalid_argument if the element does not lie here.
template <class T, class Change>
T update(Here& here, const Element& at, Change&& change) {
  const WritableRegion<T> region = here.writable_region<T>(at.region);
  if (!region.owns(at.index)) {
    refuse(kInvalidArgument, "element %llu does not lie on this node", as_printed(at.index));
  }
  return change_element(&region.local()[region.map().locate(at.index).offset],
                        std::forward<Change>(change));
}

}  // namespace godwit::ops
