// How the university data set's terms are spelled, and how its triples are stated.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "data/triple_sink.hpp"
#include "generate/university.hpp"
#include "ntriples/spelling.hpp"

namespace godwit::graph {

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // included
};
[[nodiscard]] inline std::uint64_t between(Random& random, Range range) {
  return range.low + random.below(range.high - range.low + 1);
}

inline constexpr Range kDepartments{12, 18};

[[nodiscard]] inline std::string university_iri(std::uint64_t university) {
  return fmt::format("<http://university{}.example/>", university);
}

struct DepartmentPlace {
  std::uint64_t university = 0;
  std::uint64_t department = 0;
};
// Something of a department; "" is the department itself.
[[nodiscard]] inline std::string department_iri(DepartmentPlace place, std::string_view what = "") {
  return fmt::format("<http://university{}.example/department{}/{}>", place.university,
                     place.department, what);
}

// Sends triples on, and remembers the first error so that a generator reads as what it states.
class Statements {
 public:
  explicit Statements(TripleSink& sink) : sink_(sink) {}

  // `property` is one of the data set's own, or "type".
  void state(std::string_view subject, std::string_view property, std::string_view object) {
    if (!status_) return;
    predicate_ =
        property == "type" ? "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>" : thing(property);
    status_ = sink_.add({.subject = subject, .predicate = predicate_, .object = object});
  }
  // A class or a property of the data set.
  [[nodiscard]] static std::string thing(std::string_view name) {
    return fmt::format("<{}{}>", kUniversityPrefix, name);
  }
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  TripleSink& sink_;
  std::string predicate_;
  Status status_;
};

}  // namespace godwit::graph
