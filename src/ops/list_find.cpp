#include "godwit/ops/list.hpp"

#include <algorithm>

#include "ops/mobile/chased.hpp"
#include "ops/search.hpp"

namespace godwit::ops {
namespace {

constexpr SearchKind kInList{"list_find", Op::list_find, Op::list_find_many};

// A list that looks at more elements than there are goes round in a circle.
Search begin(const Attachment& region, const ListQuery& query) {
  return {.at = query.first, .key = query.key, .left = region.elements() + 1};
}

}  // namespace

Future<std::optional<Found>> find(const Region<ListNode>& list, const ListQuery& query,
                                  Mechanism mechanism) {
  const Attachment& region = list.handle().attachment();
  // How long the list is, nobody knows: half of what one stay may look at, or of what there is.
  const std::uint64_t steps = std::min<std::uint64_t>(region.elements(), kStepsPerStay) / 2 + 1;
  return search_by(list, kInList, begin(region, query),
                   {.operation = Operation::list_find, .amount = steps}, mechanism);
}

std::vector<Outcome<std::optional<Found>>> find_many(const Region<ListNode>& list,
                                                     std::span<const ListQuery> queries) {
  const Attachment& region = list.handle().attachment();
  std::vector<Search> searches;
  searches.reserve(queries.size());
  for (const ListQuery& query : queries) searches.push_back(begin(region, query));
  return search_many(region, kInList, std::move(searches));
}

}  // namespace godwit::ops
