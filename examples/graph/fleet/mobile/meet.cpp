// Whether nodes know of each other: news of a node that has just started takes a moment.
#include <godwit/mobile.hpp>
#include <godwit/mobile/vector.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace godwit::graph {

// How many of these nodes this one has not heard of.
std::uint64_t strangers(Here& here, std::span<const std::uint64_t> ids) {
  std::vector<Node> known(here.nodes({}));
  known.resize(std::min(here.nodes(known), known.size()));
  const auto is_known = [&](std::uint64_t id) {
    return std::ranges::find(known, id, &Node::id) != known.end();
  };
  return ids.size() - static_cast<std::uint64_t>(std::ranges::count_if(ids, is_known));
}
GODWIT_EXPORT(strangers, inline_);

}  // namespace godwit::graph
