// Searches for keys: what those of lists and trees have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "godwit/ops/layout.hpp"
#include "godwit/ops/list.hpp"
#include "ops/attachment.hpp"

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
// Many that share messages. Waits.
[[nodiscard]] std::vector<Outcome<std::optional<Found>>> search_many(const Attachment& region,
                                                                     const SearchKind& kind,
                                                                     std::vector<Search> searches);

}  // namespace godwit::ops
