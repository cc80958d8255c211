#include "ntriples/writer.hpp"

#include "base/fail.hpp"

namespace godwit::graph {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

}  // namespace

Result<NtriplesWriter> NtriplesWriter::create(const std::string& path) {
  GODWIT_TRY(OutputFile file, OutputFile::create(path));
  return NtriplesWriter(std::move(file));
}

Status NtriplesWriter::add(const SpelledTriple& triple) {
  buffer_ += triple.subject;
  buffer_ += ' ';
  buffer_ += triple.predicate;
  buffer_ += ' ';
  buffer_ += triple.object;
  buffer_ += " .\n";
  ++triples_;
  if (buffer_.size() < kBufferBytes) return {};
  GODWIT_CHECK(file_.write(buffer_));
  buffer_.clear();
  return {};
}

Status NtriplesWriter::commit() {
  GODWIT_CHECK(file_.write(buffer_));
  buffer_.clear();
  return file_.commit();
}

Status send_triples(const Graph& graph, TripleSink& sink) {
  const Dictionary& terms = graph.dictionary();
  for (TermId subject = 0; subject < graph.terms(); ++subject) {
    for (const Edge edge : graph.out().edges_of(subject)) {
      GODWIT_CHECK(sink.add({.subject = terms.spelling(subject),
                             .predicate = terms.spelling(label_of(edge)),
                             .object = terms.spelling(target_of(edge))}));
    }
  }
  return {};
}

}  // namespace godwit::graph
