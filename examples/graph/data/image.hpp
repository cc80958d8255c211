// A graph as a file of plain arrays, which opens much faster than text is parsed.
//
//   0   "GDWGRAPH"             8 bytes
//   8   version                u32, 1
//   12  byte order             u32, 0x01020304 as the writing machine stores it
//   16  terms, triples, text   u64 each: two counts and the dictionary's bytes
//   40  ends                   u64[terms], where each term's spelling ends in the text
//       offsets                u64[terms + 1], where each vertex's edges begin
//       edges                  u64[triples], label above and target below
//       text                   the spellings
//
// What can be derived, the other direction and statistics, is not in it.
#pragma once

#include <string>

#include "data/graph.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

Status write_image(const Graph& graph, const std::string& path);

// Checks all of it: sizes, order and range of every number, no term twice. A damaged file is
// bad_format, a missing one not_found.
Result<Graph> read_image(const std::string& path);

// True if the file exists and begins like an image.
[[nodiscard]] bool looks_like_image(const std::string& path);

}  // namespace godwit::graph
