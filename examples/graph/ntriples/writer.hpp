// Triples into an N-Triples file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "data/graph.hpp"
#include "data/output_file.hpp"
#include "data/triple_sink.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

// One thread.
class NtriplesWriter final : public TripleSink {
 public:
  // "-" is standard output.
  static Result<NtriplesWriter> create(const std::string& path);

  Status add(const SpelledTriple& triple) override;
  // The file is there under its name from now on.
  Status commit();
  [[nodiscard]] std::uint64_t triples() const noexcept { return triples_; }

 private:
  explicit NtriplesWriter(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
  std::string buffer_;
  std::uint64_t triples_ = 0;
};

// Every triple, by subject.
Status send_triples(const Graph& graph, TripleSink& sink);

}  // namespace godwit::graph
