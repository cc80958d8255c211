// N-Triples text into a sink, piece by piece: a file of any size in a fixed amount of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/triple_sink.hpp"
#include "godwit/error.hpp"
#include "ntriples/line_parser.hpp"

namespace godwit::graph {

inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;

// Takes text in pieces that may end anywhere. Errors name the text, the line and the column, as in
// "people.nt:17:5: a predicate is an IRI in <>"; after one, nothing more may be fed. One thread.
class NtriplesReader {
 public:
  NtriplesReader(std::string name, TripleSink& sink) : name_(std::move(name)), sink_(sink) {}

  Status feed(std::string_view piece);
  // The last line may lack its end.
  Status finish();
  [[nodiscard]] std::uint64_t triples() const noexcept { return triples_; }

 private:
  Status line(std::string_view line);
  [[nodiscard]] tl::unexpected<Error> too_long() const;

  std::string name_;
  TripleSink& sink_;
  LineParser parser_;
  std::string begun_;  // the line that the last piece ended in
  std::uint64_t lines_ = 0;
  std::uint64_t triples_ = 0;
};

struct ReadProgress {
  std::uint64_t bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: not known
  std::uint64_t triples = 0;
};

struct ReadOptions {
  std::size_t chunk_bytes = std::size_t{1} << 20U;
  std::function<void(const ReadProgress&)> progress = {};  // after every chunk
};

// A whole file; "-" is standard input. Gives the number of triples.
Result<std::uint64_t> read_ntriples(const std::string& path, TripleSink& sink,
                                    const ReadOptions& options = {});

}  // namespace godwit::graph
