// Universities with their departments, people, courses and publications: a data set of our own
// after the idea of the Lehigh University Benchmark (Guo, Pan, Heflin 2005), about 100,000 triples
// each.
//
//   university <- subOrganizationOf - department <- subOrganizationOf - research group
//   faculty    - worksFor, headOf -> department;  teacherOf -> course;  degrees -> universities
//   student    - memberOf -> department;  takesCourse, teachingAssistantOf -> course;  advisor ->
//   faculty publication - publicationAuthor -> faculty and graduate students;  cites -> publication
//
// Every person also has a name, an e-mail address and a telephone number, every course its credits
// and every publication its year. Nothing is left to inference: an undergraduate is stated to be a
// ub:Student too, a professor ub:Faculty.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/triple_sink.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

// What ub: stands for.
inline constexpr std::string_view kUniversityPrefix = "http://godwit.example/univ-bench#";
inline constexpr std::uint32_t kMaxUniversities = 100'000;

struct UniversityOptions {
  std::uint32_t universities = 1;
  std::uint64_t seed = 1;
};

// The same seed gives the same triples in the same order, on every machine; n universities are the
// first n of n + 1. Memory does not grow with their number.
Status generate_universities(const UniversityOptions& options, TripleSink& sink);

}  // namespace godwit::graph
