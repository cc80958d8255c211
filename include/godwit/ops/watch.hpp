// Running a function when an element changes.
//
//   // Mobile: runs at the element's home.
//   std::uint64_t react(godwit::Here& here, godwit::ops::Element at, std::uint64_t value) { ... }
//   GODWIT_EXPORT(react);
//
//   auto react = bundle.function<std::uint64_t(ops::Element, std::uint64_t)>("react").value();
//   auto reaction = godwit::ops::watch(words, {.index = 7, .last_seen = 0}, react);
//   reaction.get();    // waits for the change and the function's result
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "godwit/detail/op_calls.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// Runs `function` at the element's home once the element is no longer `last_seen`, at once if it is
// not now, with the element as it was found and `args`; the future has what it returned. Elements
// of 1, 2, 4 or 8 bytes. A watch takes neither a worker nor a credit of the link while it waits,
// only memory of the home: beyond 4,096 at a node it is rejected(resource_exhausted). A function
// that writes through the home is noticed when it returns, and whatever else within 10 ms; what was
// changed back by then is not. Dropping the future ends it, and so do its deadline, the region's
// end (not_found) and the node's (node_lost); all of them name the element and the region. The
// arguments have 16 KiB at most (too_large).
// Spans and string views among the arguments are borrowed until it has ended.
template <class T, class R, class... Params>
Future<R> watch(const Region<T>& region, const std::type_identity_t<Change<T>>& change,
                const Function<R(Element, T, Params...)>& function,
                std::type_identity_t<Passed<Params>>... args) {
  static_assert(detail::kIsWord<T>, "godwit: only elements of 1, 2, 4 or 8 bytes are watched");
  detail::OpSubject subject{.what = "watch", .first = change.index, .count = 1};
  if (auto fits = region.handle().check("watch", change.index, 1); !fits) {
    return detail::known<R>(tl::unexpected(std::move(fits).error()));
  }
  subject.shard = detail::shard_of(region.handle(), change.index);
  // The element follows the first argument.
  const godwit_change wanted{region.handle().id(), change.index, bits_of(change.last_seen),
                             sizeof(T), sizeof(Element)};
  subject.change = &wanted;
  subject.at_most = std::chrono::milliseconds(change.at_most_ms);
  return detail::call_user(region.handle(), subject, false, function,
                           Element{region.handle().id(), change.index}, change.last_seen, args...);
}

}  // namespace godwit::ops
