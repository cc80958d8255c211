#include "generate/rmat.hpp"

#include <cmath>
#include <string>

#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit::graph {
namespace {

constexpr double kSumTolerance = 1e-9;

Status check(const RmatOptions& options) {
  if (options.scale < 1 || options.scale > kMaxRmatScale) {
    return fail(ErrorCode::invalid_argument, "an R-MAT scale is from 1 to {}, not {}",
                kMaxRmatScale, options.scale);
  }
  if (options.edge_factor < 1 || options.edge_factor > kMaxRmatEdgeFactor) {
    return fail(ErrorCode::invalid_argument, "an R-MAT edge factor is from 1 to {}, not {}",
                kMaxRmatEdgeFactor, options.edge_factor);
  }
  const double sum = options.a + options.b + options.c + options.d;
  const bool negative = options.a < 0 || options.b < 0 || options.c < 0 || options.d < 0;
  if (negative || !(std::abs(sum - 1) <= kSumTolerance)) {
    return fail(
        ErrorCode::invalid_argument,
        "R-MAT's probabilities are not negative and add up to 1, but {} + {} + {} + {} = {}",
        options.a, options.b, options.c, options.d, sum);
  }
  return {};
}

struct Cell {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
};

// Halves the matrix `scale` times, and goes into one of the quarters each time.
Cell draw(const RmatOptions& options, Random& random) {
  Cell cell;
  for (std::uint32_t level = 0; level < options.scale; ++level) {
    const double at = random.unit();
    const bool lower = at >= options.a + options.b;
    const bool right = lower ? at >= options.a + options.b + options.c : at >= options.a;
    cell.row = cell.row * 2 + (lower ? 1 : 0);
    cell.column = cell.column * 2 + (right ? 1 : 0);
  }
  return cell;
}

}  // namespace

Status generate_rmat(const RmatOptions& options, TripleSink& sink) {
  GODWIT_CHECK(check(options));
  Random random(options.seed);
  const std::uint64_t edges = (std::uint64_t{1} << options.scale) * options.edge_factor;
  std::string from;
  std::string to;
  for (std::uint64_t edge = 0; edge < edges; ++edge) {
    const Cell cell = draw(options, random);
    from = fmt::format("<urn:rmat:{}>", cell.row);
    to = fmt::format("<urn:rmat:{}>", cell.column);
    GODWIT_CHECK(sink.add({.subject = from, .predicate = "<urn:rmat:edge>", .object = to}));
  }
  return {};
}

}  // namespace godwit::graph
