#include "query/parser.hpp"

#include <gtest/gtest.h>

#include <string>

#include "query/named_queries.hpp"
#include "query/prefixes.hpp"

namespace godwit::graph {
namespace {

std::string term_of(const QueryTerm& term) {
  if (const auto* variable = std::get_if<Variable>(&term)) {
    return "?" + std::to_string(variable->number);
  }
  return std::get<std::string>(term);
}

TEST(QueryParser, ReadsPatternsFiltersAndLimit) {
  const auto query = parse_query(
      "prefix ex: <http://a.example/>  # short names\n"
      "SELECT DISTINCT ?x ?y WHERE {\n"
      "  ?x ub:advisor ?y .\n"
      "  ?y a ex:Professor.\n"
      "  ?x ex:age ?age FILTER(?age >= 30 && ?name != \"Smith\"@EN)\n"
      "  ?x ex:name ?name .\n"
      "} LIMIT 10");
  ASSERT_TRUE(query) << query.error().message;
  EXPECT_EQ(query->variables, (std::vector<std::string>{"x", "y", "age", "name"}));
  EXPECT_EQ(query->selected, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(query->distinct);
  EXPECT_EQ(query->limit, 10U);
  ASSERT_EQ(query->patterns.size(), 4U);
  EXPECT_EQ(term_of(query->patterns[0].predicate), "<http://godwit.example/univ-bench#advisor>");
  EXPECT_EQ(term_of(query->patterns[1].predicate),
            "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>");
  EXPECT_EQ(term_of(query->patterns[1].object), "<http://a.example/Professor>");
  ASSERT_EQ(query->filters.size(), 2U);
  EXPECT_EQ(term_of(query->filters[0].left), "?2");
  EXPECT_EQ(query->filters[0].comparison, Comparison::greater_equal);
  EXPECT_EQ(term_of(query->filters[0].right), "\"30\"^^<http://www.w3.org/2001/XMLSchema#integer>");
  EXPECT_EQ(term_of(query->filters[1].right), "\"Smith\"@en");
}

TEST(QueryParser, TheStarSelectsEveryVariable) {
  const auto query = parse_query("SELECT * { ?s ?p -1.5 . ?s <x:p> ?o }");
  ASSERT_TRUE(query) << query.error().message;
  EXPECT_EQ(query->selected, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(term_of(query->patterns[0].object),
            "\"-1.5\"^^<http://www.w3.org/2001/XMLSchema#decimal>");
}

TEST(QueryParser, TellsAComparisonFromAnIri) {
  const auto query = parse_query("SELECT ?x { ?x <x:p> ?y FILTER(?y < 3 && ?y <5 && ?x = <x:a>) }");
  ASSERT_TRUE(query) << query.error().message;
  EXPECT_EQ(query->filters[1].comparison, Comparison::less);
  EXPECT_EQ(term_of(query->filters[2].right), "<x:a>");
}

TEST(QueryParser, EveryNamedQueryIsOne) {
  EXPECT_EQ(named_queries().size(), 10U);
  for (const NamedQuery& named : named_queries()) {
    const auto query = parse_query(named.text);
    ASSERT_TRUE(query) << named.name << ": " << query.error().message;
    EXPECT_GE(query->patterns.size(), 2U);
    EXPECT_LE(query->patterns.size(), 5U);
    EXPECT_EQ(find_named_query(named.name), &named);
  }
  EXPECT_EQ(find_named_query("q11"), nullptr);
}

TEST(QueryParser, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "line 1, column 1: a query begins with SELECT"},
      {"ASK { ?x ?y ?z }", "line 1, column 1: a query begins with SELECT"},
      {"SELECT WHERE { ?x ?y ?z }", "line 1, column 8: variables or *"},
      {"SELECT ? { ?x ?y ?z }", "line 1, column 9: a variable needs a name"},
      {"SELECT ?x\nWHERE ?x", "line 2, column 7: WHERE {"},
      {"SELECT ?x { }", "line 1, column 13: there is no pattern"},
      {"SELECT ?x { ?x ?y }", "line 1, column 19: an object should follow"},
      {"SELECT ?x { ?x }", "line 1, column 16: a predicate should follow"},
      {"SELECT ?x { ?x ?y ?z", "line 1, column 21: a '.' should follow"},
      {"SELECT ?x { ?x ?y ?z .", "line 1, column 23: a '}' is missing"},
      {"SELECT ?x { ?x ?y ?z ?x ?y ?z }", "line 1, column 22: a '.' should follow"},
      {"SELECT ?x { ?x no:p ?z }", "line 1, column 16: the prefix of no:p is not declared"},
      {"SELECT ?x { ?x <p> ?z }", "line 1, column 16: an IRI begins with a scheme"},
      {"SELECT ?x { ?x ?y \"z }", "line 1, column 19: the literal has no"},
      {"SELECT ?x { ?x ?y ?z } LIMIT", "line 1, column 29: LIMIT needs"},
      {"SELECT ?x { ?x ?y ?z } LIMIT -1", "line 1, column 30: LIMIT needs"},
      {"SELECT ?x { ?x ?y ?z } LIMIT 1.5", "line 1, column 30: LIMIT needs"},
      {"SELECT ?x { ?x ?y ?z } ORDER", "line 1, column 24: nothing but LIMIT"},
      {"SELECT ?x { ?x ?y ?z FILTER ?x }", "line 1, column 29: a '(' should follow"},
      {"SELECT ?x { ?x ?y ?z FILTER(?x) }", "line 1, column 31: one of = !="},
      {"SELECT ?x { ?x ?y ?z FILTER(?x = 1 ?y) }", "line 1, column 36: a ')' or &&"},
      {"SELECT ?x { ?x ?y 3rd }", "line 1, column 20: a number is written"},
      {"SELECT ?x { ?x ?y ?z ; }", "line 1, column 22: this character"},
      {"PREFIX ub <x:> SELECT ?x { ?x ?y ?z }", "line 1, column 8: a prefix is declared"},
      {"PREFIX ub: ub SELECT ?x { ?x ?y ?z }", "line 1, column 12: an IRI in <>"},
      {"SELECT ?w { ?x ?y ?z }", "?w is in no pattern"},
      {"SELECT ?x { ?x ?y ?z FILTER(?v = 1) }", "?v is in no pattern"},
      {"SELECT * { <x:a> <x:b> <x:c> }", "SELECT * finds no variable"},
  };
  for (const auto& [text, why] : mistakes) {
    const auto query = parse_query(text);
    ASSERT_FALSE(query) << text;
    EXPECT_EQ(query.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(query.error().message.find(why), std::string::npos)
        << text << "\n  " << query.error().message;
  }
}

TEST(QueryParser, HasLimits) {
  std::string many = "SELECT ?x {";
  for (std::size_t i = 0; i <= kMaxPatterns; ++i) many += " ?x <x:p> ?y .";
  EXPECT_NE(parse_query(many + "}").error().message.find("at most 8 patterns"), std::string::npos);
  std::string filters = "SELECT ?x { ?x <x:p> ?y FILTER(?y > 1";
  for (std::size_t i = 0; i < kMaxFilters; ++i) filters += " && ?y > 1";
  EXPECT_FALSE(parse_query(filters + ") }"));
  std::string variables = "SELECT";
  for (std::size_t i = 0; i <= kMaxVariables; ++i) variables += " ?v" + std::to_string(i);
  EXPECT_NE(parse_query(variables).error().message.find("at most 24 variables"), std::string::npos);
  EXPECT_FALSE(parse_query(std::string(kMaxQueryBytes + 1, ' ')));
}

TEST(Prefixes, ShortenWhatTheyExpand) {
  const Prefixes& prefixes = known_prefixes();
  EXPECT_EQ(shorten(prefixes, *expand(prefixes, "ub:advisor")), "ub:advisor");
  EXPECT_EQ(shorten(prefixes, "<http://other.example/x>"), "<http://other.example/x>");
  EXPECT_EQ(shorten(prefixes, "\"7\"^^<http://www.w3.org/2001/XMLSchema#int>"), "7");
  EXPECT_EQ(shorten(prefixes, "\"seven\""), "\"seven\"");
  EXPECT_EQ(expand(prefixes, "no:thing"), std::nullopt);
  EXPECT_EQ(expand(prefixes, "word"), std::nullopt);
}

}  // namespace
}  // namespace godwit::graph
