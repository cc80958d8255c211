// What a graph is in regions, and what travels: shared by the client and the mobile code.
//
//   ranges    one for each vertex, dealt out in turn: vertex v lies on shard v % shards
//   edges     a block for each shard: the edges of its vertices, sorted within a vertex
//   numbers   a block for each shard, all the same: the terms that have a value, by term
//
// Ranges and edges exist twice, by subject and by object.
#pragma once

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

// Rows travel as TermIds one after the other: the step to do next, then a term for each variable,
// kNoTerm where there is none yet. With this bit the step is a scan that concerns only the vertices
// of the node it is sent to.
inline constexpr std::uint32_t kScanHere = 0x8000'0000;

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

// What one level of a walk did.
struct LevelDone {
  std::uint64_t found = 0;  // vertices of the next level
  std::uint64_t edges = 0;  // followed
};
GODWIT_STRUCT(LevelDone, found, edges);

// A vertex, and how far it is from where the walk began.
struct Reached {
  TermId vertex = 0;
  std::uint32_t distance = 0;
};
GODWIT_STRUCT(Reached, vertex, distance);

// News for a vertex: its component has one as small as this.
struct Offer {
  TermId vertex = 0;
  TermId smallest = 0;
};
GODWIT_STRUCT(Offer, vertex, smallest);

// PageRank: what it ranks, and where.
struct RankRef {
  GraphRef graph = {};
  std::uint64_t ranks = 0;  // a region with one for each vertex
  std::uint64_t inbox = 0;  // a region with, on each shard, a row of sums from each shard
  TermId label = kNoTerm;   // kNoTerm: any
  std::uint32_t unused = 0;
};
GODWIT_STRUCT(RankRef, graph, ranks, inbox, label, unused);

}  // namespace godwit::graph
