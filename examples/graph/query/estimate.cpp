#include "query/estimate.hpp"

#include <algorithm>

namespace godwit::graph {
namespace {

double as_double(std::uint64_t count) {
  return static_cast<double>(count);
}

// Triples that match if every variable is free.
double matches_of_constants(const Graph& graph, const Step& step) {
  const bool subject = !step.subject.is_variable();
  const bool object = !step.object.is_variable();
  if (step.predicate.is_variable()) {
    double least = as_double(graph.triples());
    if (subject) least = as_double(graph.out().edges_of(step.subject.term).size());
    if (object) {
      least = std::min(least, as_double(graph.in().edges_of(step.object.term).size()));
    }
    return least;
  }
  const TermId label = step.predicate.term;
  if (subject && object) {
    return graph.out().has(step.subject.term, make_edge(label, step.object.term)) ? 1 : 0;
  }
  if (subject) return as_double(graph.out().edges_of(step.subject.term, label).size());
  if (object) return as_double(graph.in().edges_of(step.object.term, label).size());
  return as_double(graph.statistics(label).triples);
}

}  // namespace

VariableSet variables_of(const Step& step) noexcept {
  VariableSet set = 0;
  for (const Slot* slot : {&step.subject, &step.predicate, &step.object}) {
    if (slot->is_variable()) set |= VariableSet{1} << slot->variable;
  }
  return set;
}

double expected_matches(const Graph& graph, const Step& step, VariableSet bound) {
  double matches = matches_of_constants(graph, step);
  LabelStatistics statistics{
      .triples = graph.triples(), .subjects = graph.terms(), .objects = graph.terms()};
  if (!step.predicate.is_variable()) {
    statistics = graph.statistics(step.predicate.term);
  } else if (is_known(step.predicate, bound)) {
    matches /= std::max(1.0, as_double(graph.labels().size()));
  }
  if (step.subject.is_variable() && is_known(step.subject, bound)) {
    matches /= std::max(1.0, as_double(statistics.subjects));
  }
  if (step.object.is_variable() && is_known(step.object, bound)) {
    matches /= std::max(1.0, as_double(statistics.objects));
  }
  return matches;
}

}  // namespace godwit::graph
