// Tables, lists and trees wherever they lie, asked for by mobile code: what hash_table.hpp,
// list.hpp and tree.hpp of godwit/ops are for programs. All of them wait, and so [block]; mobile
// code that would rather go where the elements are has the steps of traversal.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "godwit/mobile/operation.hpp"
#include "godwit/ops/layout.hpp"

namespace godwit::ops {
namespace raw {

[[nodiscard]] inline std::optional<std::uint64_t> read_answer(const Subject& /*subject*/,
                                                              const HashAnswer& answer) {
  if (answer.found == 0) return std::nullopt;
  return answer.value;
}

template <class T>
[[nodiscard]] std::optional<Found> search(const Here& here, const char* function,
                                          const RegionView<T>& region, std::uint64_t first,
                                          std::uint64_t key) {
  using Function = Search(std::uint64_t, Search);
  Search search{.at = first, .key = key, .left = region.size()};
  for (;;) {
    const std::uint64_t before = search.left;
    const Subject subject = subject_of(function, region, search.at);
    const Node home = home_of(function, region, search.at);
    auto call = here.call(operation<Function>(here, function), home, region.id(), search);
    search = Operation<Search>(std::move(call), subject, &read_as_is<Search>).get();
    if (search.state == Search::kFound) return Found{search.at, search.value};
    if (search.state == Search::kAbsent) return std::nullopt;
    if (search.state == Search::kUnderWay && search.left > 0 && search.left < before) continue;
    fail_as(subject_of(function, region, search.at), GODWIT_ENDED_REJECTED, kInvalidArgument, true,
            search.state == Search::kBroken ? "it does not hold what it should"
                                            : "it goes round in a circle");
  }
}

}  // namespace raw

// What the table has under the key.
inline Operation<std::optional<std::uint64_t>, HashAnswer> hash_get(
    const Here& here, const RegionView<HashSlot>& table, std::uint64_t key) {
  using Function = HashAnswer(std::uint64_t, std::uint64_t);
  const std::uint64_t slot = table.size() == 0 ? 0 : hash_of_key(key) % table.size();
  return {here.call(operation<Function>(here, "hash_get"), home_of("hash_get", table, slot),
                    table.id(), key),
          subject_of("hash_get", table, slot), &raw::read_answer};
}

// Sets the key's value, and returns the one before. resource_exhausted: there is no room for it.
inline Operation<std::optional<std::uint64_t>, HashAnswer> hash_put(
    const Here& here, const RegionView<HashSlot>& table, std::uint64_t key, std::uint64_t value) {
  using Function = HashAnswer(std::uint64_t, std::uint64_t, std::uint64_t);
  const std::uint64_t slot = table.size() == 0 ? 0 : hash_of_key(key) % table.size();
  return {here.call(operation<Function>(here, "hash_put"), home_of("hash_put", table, slot),
                    table.id(), key, value),
          subject_of("hash_put", table, slot), &raw::read_answer};
}

// The entry with that key of a tree, or of a list that begins at `first`.
[[nodiscard]] inline std::optional<Found> find(const Here& here, const RegionView<TreeNode>& tree,
                                               std::uint64_t key) {
  return raw::search(here, "tree_find", tree, 0, key);
}
struct ListStart {
  std::uint64_t first = 0;
};
[[nodiscard]] inline std::optional<Found> find(const Here& here, const RegionView<ListNode>& list,
                                               ListStart start, std::uint64_t key) {
  return raw::search(here, "list_find", list, start.first, key);
}

}  // namespace godwit::ops
