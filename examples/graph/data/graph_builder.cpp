#include "data/graph_builder.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::graph {

Status GraphBuilder::add(const SpelledTriple& triple) {
  if (triples_.size() >= kMaxTriples) {
    return fail(ErrorCode::too_large, "a graph has at most {} triples; split the data",
                kMaxTriples);
  }
  GODWIT_TRY(const TermId subject, dictionary_.intern(triple.subject));
  GODWIT_TRY(const TermId predicate, dictionary_.intern(triple.predicate));
  GODWIT_TRY(const TermId object, dictionary_.intern(triple.object));
  triples_.push_back({subject, predicate, object});
  return {};
}

Graph GraphBuilder::finish() && {
  Adjacency out = Adjacency::from(triples_, dictionary_.size());
  std::vector<Triple>().swap(triples_);  // before the other direction needs the memory
  return {std::move(dictionary_), std::move(out)};
}

}  // namespace godwit::graph
