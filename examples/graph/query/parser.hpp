// Queries in a small part of SPARQL.
//
//   PREFIX ex: <http://a.example/>
//   SELECT DISTINCT ?student ?professor WHERE {
//     ?student ub:advisor ?professor .
//     ?professor a ub:FullProfessor .
//     ?student ex:age ?age .
//     FILTER(?age > 30 && ?professor != ex:smith)
//   } LIMIT 10
//
// SELECT * takes every variable; `a` is rdf:type; # begins a comment. Keywords in any case.
#pragma once

#include <string_view>

#include "godwit/error.hpp"
#include "query/query.hpp"

namespace godwit::graph {

inline constexpr std::size_t kMaxQueryBytes = std::size_t{1} << 16U;

// Errors say where: "the query, line 2, column 7: a '.' should follow the pattern".
Result<Query> parse_query(std::string_view text);

}  // namespace godwit::graph
