// Searches for keys: what those of lists and trees have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "godwit/mobile/traversal.hpp"
#include "godwit/ops/layout.hpp"
#include "godwit/ops/list.hpp"
#include "ops/attachment.hpp"
#include "ops/decide.hpp"

namespace godwit::ops {

// What is searched, and by which functions.
struct SearchKind {
  const char* verb = "";
  Op one{};
  Op many{};
};

// Whether a search that came back is over, and how; none: it goes on from search.at. `before` is
// what it had left when it was sent.
[[nodiscard]] std::optional<Outcome<std::optional<Found>>> end_of(const Attachment& region,
                                                                  const SearchKind& kind,
                                                                  const Search& search,
                                                                  std::uint64_t before);

// One search as a call that travels; asked again for what one call could not do.
[[nodiscard]] Future<std::optional<Found>> search_one(detail::RegionHandle region, SearchKind kind,
                                                      Search search);
// The same by the calling thread, which looks at one element after another as the region's reach
// has it. Waits.
template <class Node>
[[nodiscard]] Outcome<std::optional<Found>> search_here(const Region<Node>& region,
                                                        const SearchKind& kind, Search search) {
  const Attachment& there = region.handle().attachment();
  if (auto fits = there.check(kind.verb, search.at, 1); !fits) {
    return tl::unexpected(std::move(fits).error());
  }
  for (;;) {
    const std::uint64_t before = search.left;
    const auto node = region.load(search.at);
    if (!node) return tl::unexpected(node.error());
    advance(*node, search);
    if (auto end = end_of(there, kind, search, before)) return *std::move(end);
  }
}

// By whichever mechanism; `work` says how many elements it is thought to look at.
template <class Node>
[[nodiscard]] Future<std::optional<Found>> search_by(const Region<Node>& region,
                                                     const SearchKind& kind, const Search& search,
                                                     const Work& work, Mechanism asked) {
  const Attachment& there = region.handle().attachment();
  if (asked == Mechanism::direct && !there.is_all_mapped()) {
    return detail::known<std::optional<Found>>(tl::unexpected(not_mapped(there, kind.verb)));
  }
  if (decide(region.handle(), work, asked) == Mechanism::code) {
    return search_one(region.handle(), kind, search);
  }
  const Reach reach = asked == Mechanism::automatic ? region.handle().reach() : reach_for(asked);
  return detail::known(search_here(region.through(reach), kind, search));
}

// Many that share messages. Waits.
[[nodiscard]] std::vector<Outcome<std::optional<Found>>> search_many(const Attachment& region,
                                                                     const SearchKind& kind,
                                                                     std::vector<Search> searches);

}  // namespace godwit::ops
