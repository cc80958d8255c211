// Short names for IRIs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace godwit::graph {

// Prefix, without its colon, and what it stands for.
using Prefixes = std::map<std::string, std::string, std::less<>>;

// ub (the university data), rdf, xsd: known without being declared.
[[nodiscard]] const Prefixes& known_prefixes();

// The IRI's canonical spelling for a name like "ub:advisor"; nothing if the prefix is unknown.
[[nodiscard]] std::optional<std::string> expand(const Prefixes& prefixes, std::string_view name);
// For people: IRIs under a known prefix by their short name, numbers bare, all else as spelled.
[[nodiscard]] std::string shorten(const Prefixes& prefixes, std::string_view spelling);

}  // namespace godwit::graph
