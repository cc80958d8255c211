#include "generate/university.hpp"

#include "base/fail.hpp"
#include "base/random.hpp"
#include "generate/department.hpp"
#include "generate/university_terms.hpp"

namespace godwit::graph {

Status generate_universities(const UniversityOptions& options, TripleSink& sink) {
  if (options.universities < 1 || options.universities > kMaxUniversities) {
    return fail(ErrorCode::invalid_argument, "from 1 to {} universities can be made, not {}",
                kMaxUniversities, options.universities);
  }
  Statements out(sink);
  for (std::uint32_t university = 0; university < options.universities; ++university) {
    const std::string name = university_iri(university);
    out.state(name, "type", out.thing("University"));
    out.state(name, "name", spell_string(fmt::format("University{}", university)));
    Random random(mix64(options.seed) ^ mix64(university));
    const std::uint64_t departments = between(random, kDepartments);
    for (std::uint32_t department = 0; department < departments; ++department) {
      Department(options.seed, {university, department}, out).generate();
      GODWIT_CHECK(out.status());
    }
  }
  return {};
}

}  // namespace godwit::graph
