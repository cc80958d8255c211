// Ten queries over the university data, from a look-up to joins that close a triangle.
#pragma once

#include <span>
#include <string_view>

namespace godwit::graph {

struct NamedQuery {
  std::string_view name;  // q1 ... q10
  std::string_view about;
  std::string_view text;
  bool multi_hop = false;  // follows edges from vertex to vertex, rather than around one
};
[[nodiscard]] std::span<const NamedQuery> named_queries();
// Null if there is none of that name.
[[nodiscard]] const NamedQuery* find_named_query(std::string_view name);

}  // namespace godwit::graph
