// What a graph is in regions, and what travels: shared by the client and the mobile code.
//
//   ranges    one for each vertex, dealt out in turn: vertex v lies on shard v % shards
//   edges     a block for each shard: the edges of its vertices, sorted within a vertex
//   numbers   a block for each shard, all the same: the terms that have a value, by term
//
// Ranges and edges exist twice, by subject and by object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/edge.hpp"
#include "godwit/struct.hpp"
#include "godwit/types.hpp"

namespace godwit::graph {

// The edges of one vertex: elements of the region of edges.
struct EdgeRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
GODWIT_STRUCT(EdgeRange, first, count);

struct NumberEntry {
  TermId term = kNoTerm;
  std::uint32_t unused = 0;
  double value = 0;
};
GODWIT_STRUCT(NumberEntry, term, unused, value);

// A loaded graph: the ids of its regions.
struct GraphRef {
  std::uint64_t out_ranges = 0;
  std::uint64_t out_edges = 0;
  std::uint64_t in_ranges = 0;
  std::uint64_t in_edges = 0;
  std::uint64_t numbers = 0;
};
GODWIT_STRUCT(GraphRef, out_ranges, out_edges, in_ranges, in_edges, numbers);

inline constexpr std::uint32_t kNotAVariable = 0xFFFF'FFFF;

// A place of a pattern: a term, or a variable by its number.
struct Place {
  TermId term = kNoTerm;
  std::uint32_t variable = kNotAVariable;
};
GODWIT_STRUCT(Place, term, variable);

// How a step finds its edges; the numbers of graph::Access.
inline constexpr std::uint32_t kBySubject = 0;
inline constexpr std::uint32_t kByObject = 1;
inline constexpr std::uint32_t kByScan = 2;

// One step of a plan (query/plan.hpp).
struct TravelStep {
  Place subject = {};
  Place predicate = {};
  Place object = {};
  std::uint32_t access = kByScan;
};
GODWIT_STRUCT(TravelStep, subject, predicate, object, access);

// One side of a filter: a variable, or a constant, which is a number unless `number` is NaN.
struct Operand {
  Place place = {};
  double number = 0;
};
GODWIT_STRUCT(Operand, place, number);

// A filter that needs no texts, decided after step `step`.
struct Condition {
  std::uint32_t step = 0;
  std::uint32_t comparison = 0;  // a graph::Comparison
  Operand left = {};
  Operand right = {};
};
GODWIT_STRUCT(Condition, step, comparison, left, right);

// What a query carries everywhere.
struct Journey {
  GraphRef graph = {};
  std::uint32_t variables = 0;
  std::uint32_t splits_left = 0;  // how often a call may still become several
};
GODWIT_STRUCT(Journey, graph, variables, splits_left);

// Rows travel as TermIds, in blocks. A block begins with the step to do next, the shard whose node
// does it, and how many rows there are. Each row has a term for every variable that earlier steps
// bind, in the order of variables. With this bit the step is a scan of that shard's vertices.
inline constexpr std::uint32_t kScanHere = 0x8000'0000;
inline constexpr std::size_t kBlockHead = 3;

// A walk outward: what it follows, and where it notes what it reached.
struct WalkRef {
  GraphRef graph = {};
  std::uint64_t marks = 0;       // a region of words: run above, distance below
  std::uint32_t run = 0;         // tells this walk's marks from older ones
  TermId label = kNoTerm;        // kNoTerm: any
  std::uint32_t follow_out = 0;  // 1: from subject to object
  std::uint32_t follow_in = 0;   // 1: from object to subject
};
GODWIT_STRUCT(WalkRef, graph, marks, run, label, follow_out, follow_in);

// How far a walk that carries what it has reached is. Levels are complete up to `distance`; that
// one is being left, from shard `began` on and then around the ring.
struct Wanderer {
  std::uint32_t max_hops = 0;
  std::uint32_t began = 0;
  std::uint64_t edges = 0;  // followed from complete levels before this one
  std::uint64_t edges_of_level = 0;
};
GODWIT_STRUCT(Wanderer, max_hops, began, edges, edges_of_level);

// What it answers with, as TermIds: whether it came to the end (1), edges (lower half, upper half),
// the number of levels, the size of each, and the vertices level by level.
inline constexpr std::size_t kWanderedHead = 4;
// What is in front of the neighbours of vertices: how many edges lead to them (lower half, upper
// half), and their form. Each is named once, or all vertices have a bit that is set for neighbours.
inline constexpr std::size_t kExpandedHead = 3;
inline constexpr TermId kExpandedList = 0;
inline constexpr TermId kExpandedBits = 1;
[[nodiscard]] constexpr std::size_t words_of_bits(std::uint64_t vertices) {
  return static_cast<std::size_t>((vertices + 31) / 32);
}

// What one level of a walk did.
struct LevelDone {
  std::uint64_t found = 0;  // vertices of the next level
  std::uint64_t edges = 0;  // followed
};
GODWIT_STRUCT(LevelDone, found, edges);

// Levels whose distances fit into bytes.
inline constexpr std::size_t kMaxByteLevels = 255;

// A vertex, and how far it is from where the walk began.
struct Reached {
  TermId vertex = 0;
  std::uint32_t distance = 0;
};
GODWIT_STRUCT(Reached, vertex, distance);

// PageRank: what it ranks, and where.
struct RankRef {
  GraphRef graph = {};
  std::uint64_t ranks = 0;  // a region with one for each vertex
  std::uint64_t inbox = 0;  // a region with, on each shard, two rows of sums from each shard
  TermId label = kNoTerm;   // kNoTerm: any
  std::uint32_t unused = 0;
};
GODWIT_STRUCT(RankRef, graph, ranks, inbox, label, unused);

// One beat of PageRank: new ranks from what arrived in the last one, and then what they send.
struct RankBeat {
  std::uint32_t beat = 0;     // counted from 0; nothing has arrived before that one
  std::uint32_t is_last = 0;  // 1: nothing is sent any more
  double base = 0;            // of each rank
  double damping = 0;
};
GODWIT_STRUCT(RankBeat, beat, is_last, base, damping);

struct RankDone {
  double moved = 0;     // by how much ranks changed, in sum
  double stranded = 0;  // rank of vertices that have nowhere to send it
};
GODWIT_STRUCT(RankDone, moved, stranded);

}  // namespace godwit::graph
