#include "query/prefixes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "data/number.hpp"
#include "generate/university.hpp"
#include "ntriples/characters.hpp"
#include "ntriples/spelling.hpp"

namespace godwit::graph {

const Prefixes& known_prefixes() {
  static const Prefixes kPrefixes{
      {"ub", std::string(kUniversityPrefix)},
      {"rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"},
      {"xsd", "http://www.w3.org/2001/XMLSchema#"},
  };
  return kPrefixes;
}

std::optional<std::string> expand(const Prefixes& prefixes, std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto found = prefixes.find(name.substr(0, colon));
  if (found == prefixes.end()) return std::nullopt;
  return fmt::format("<{}{}>", found->second, name.substr(colon + 1));
}

std::string shorten(const Prefixes& prefixes, std::string_view spelling) {
  if (!std::isnan(number_of(spelling))) return plain_text(spelling);
  if (!spelling.starts_with('<')) return std::string(spelling);
  const std::string_view iri = spelling.substr(1, spelling.size() - 2);
  for (const auto& [prefix, start] : prefixes) {
    if (!iri.starts_with(start)) continue;
    const std::string_view rest = iri.substr(start.size());
    if (rest.find_first_of("/#") == std::string_view::npos) {
      return fmt::format("{}:{}", prefix, rest);
    }
  }
  return std::string(spelling);
}

}  // namespace godwit::graph
