// Where triples go while they are still text: generators and the loader on one side, a file or a
// graph on the other.
#pragma once

#include <string_view>

#include "godwit/error.hpp"

namespace godwit::graph {

// Terms in canonical spelling (ntriples/line_parser.hpp). The views hold during the call only.
struct SpelledTriple {
  std::string_view subject;
  std::string_view predicate;
  std::string_view object;
};

class TripleSink {
 public:
  virtual ~TripleSink() = default;
  // After an error nothing more may be sent.
  virtual Status add(const SpelledTriple& triple) = 0;
};

}  // namespace godwit::graph
