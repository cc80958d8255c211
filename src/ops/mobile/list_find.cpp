// Looks for a key along a list that leads from node to node.
#include "chased.hpp"
#include "traversal.hpp"

namespace godwit::ops {

Next<Search> list_find(Here& here, std::uint64_t region, Search search) {
  const auto list = here.region<ListNode>(region);
  for (std::uint32_t taken = 0; taken < kStepsPerStay && step(list, search); ++taken) {
  }
  return answer_or_travel<list_find>(here, list, search);
}
GODWIT_EXPORT(list_find, inline_);

// Answers with how far each has come; whoever asked sends it on.
std::vector<Search> list_find_many(Here& here, std::uint64_t region,
                                   std::span<const Search> searches) {
  const auto list = here.region<ListNode>(region);
  return walk_all(searches, [&](Search& search) { return step(list, search); });
}
GODWIT_EXPORT(list_find_many, inline_);

}  // namespace godwit::ops
