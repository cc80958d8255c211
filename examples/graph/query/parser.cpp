#include "query/parser.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/fail.hpp"
#include "ntriples/characters.hpp"
#include "query/lexer.hpp"
#include "query/prefixes.hpp"

namespace godwit::graph {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

  Result<Query> parse() {
    GODWIT_CHECK(advance());
    while (is_word("prefix")) GODWIT_CHECK(prefix());
    GODWIT_CHECK(select());
    GODWIT_CHECK(where());
    if (is_word("limit")) GODWIT_CHECK(limit());
    if (token_.kind != TokenKind::end) return failed("nothing but LIMIT may follow the '}'");
    GODWIT_CHECK(choose_columns());
    return std::move(query_);
  }

 private:
  Status advance() {
    GODWIT_TRY(token_, lexer_.next());
    return {};
  }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return token_.kind == TokenKind::word &&
           std::ranges::equal(token_.text, word, {}, to_lower, to_lower);
  }
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return token_.kind == TokenKind::sign && token_.text == sign;
  }
  Status expect_sign(std::string_view sign, std::string_view what) {
    if (!is_sign(sign)) return failed(what);
    return advance();
  }
  [[nodiscard]] tl::unexpected<Error> failed(std::string_view why) const {
    return fail(ErrorCode::invalid_argument, "the query, {}: {}", Lexer::place(text_, token_.at),
                why);
  }

  Status prefix();
  Status select();
  Status where();
  Status pattern();
  Status filter();
  Status comparison();
  Status limit();
  Status choose_columns();
  Result<QueryTerm> term(std::string_view what);
  Result<Variable> variable();
  [[nodiscard]] bool is_bound(std::uint32_t variable) const;

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  Prefixes prefixes_ = known_prefixes();
  Query query_;
  bool select_all_ = false;
};

Status Parser::prefix() {
  GODWIT_CHECK(advance());
  if (token_.kind != TokenKind::name || token_.text.find(':') + 1 != token_.text.size()) {
    return failed("a prefix is declared like PREFIX ub: <http://...>");
  }
  const std::string name = token_.text.substr(0, token_.text.size() - 1);
  GODWIT_CHECK(advance());
  if (token_.kind != TokenKind::term || !token_.text.starts_with('<')) {
    return failed("an IRI in <> should follow the prefix");
  }
  prefixes_[name] = token_.text.substr(1, token_.text.size() - 2);
  return advance();
}

Status Parser::select() {
  if (!is_word("select")) return failed("a query begins with SELECT");
  GODWIT_CHECK(advance());
  if (is_word("distinct")) {
    query_.distinct = true;
    GODWIT_CHECK(advance());
  }
  if (is_sign("*")) {
    select_all_ = true;
    return advance();
  }
  if (token_.kind != TokenKind::variable) return failed("variables or * should follow SELECT");
  while (token_.kind == TokenKind::variable) {
    GODWIT_TRY(const Variable selected, variable());
    query_.selected.push_back(selected.number);
  }
  return {};
}

Status Parser::where() {
  if (is_word("where")) GODWIT_CHECK(advance());
  GODWIT_CHECK(expect_sign("{", "WHERE { should follow the variables"));
  while (!is_sign("}")) {
    if (token_.kind == TokenKind::end) return failed("a '}' is missing");
    if (is_word("filter")) {
      GODWIT_CHECK(filter());
      if (is_sign(".")) GODWIT_CHECK(advance());
      continue;
    }
    GODWIT_CHECK(pattern());
    if (is_sign("}") || is_word("filter")) continue;
    GODWIT_CHECK(expect_sign(".", "a '.' should follow the pattern"));
  }
  if (query_.patterns.empty()) return failed("there is no pattern between the braces");
  return advance();
}

Status Parser::pattern() {
  if (query_.patterns.size() == kMaxPatterns) {
    return failed(fmt::format("a query has at most {} patterns", kMaxPatterns));
  }
  Pattern pattern;
  GODWIT_TRY(pattern.subject, term("a pattern begins with a variable or an IRI"));
  if (is_word("a")) {
    pattern.predicate = *expand(known_prefixes(), "rdf:type");
    GODWIT_CHECK(advance());
  } else {
    GODWIT_TRY(pattern.predicate, term("a predicate should follow: a variable, an IRI or a"));
  }
  GODWIT_TRY(pattern.object, term("an object should follow: a variable, an IRI or a literal"));
  query_.patterns.push_back(std::move(pattern));
  return {};
}

Status Parser::filter() {
  GODWIT_CHECK(advance());
  GODWIT_CHECK(expect_sign("(", "a '(' should follow FILTER"));
  GODWIT_CHECK(comparison());
  while (is_sign("&&")) {
    GODWIT_CHECK(advance());
    GODWIT_CHECK(comparison());
  }
  return expect_sign(")", "a ')' or && should follow the comparison");
}

Status Parser::comparison() {
  if (query_.filters.size() == kMaxFilters) {
    return failed(fmt::format("a query has at most {} comparisons", kMaxFilters));
  }
  Filter filter;
  GODWIT_TRY(filter.left, term("a comparison begins with a variable or a value"));
  const std::pair<std::string_view, Comparison> kSigns[] = {
      {"=", Comparison::equal},   {"!=", Comparison::not_equal},
      {"<", Comparison::less},    {"<=", Comparison::less_equal},
      {">", Comparison::greater}, {">=", Comparison::greater_equal}};
  const auto sign = std::ranges::find_if(kSigns, [&](auto& entry) { return is_sign(entry.first); });
  if (sign == std::ranges::end(kSigns)) return failed("one of = != < <= > >= should follow");
  filter.comparison = sign->second;
  GODWIT_CHECK(advance());
  GODWIT_TRY(filter.right, term("a variable or a value should follow the comparison"));
  query_.filters.push_back(std::move(filter));
  return {};
}

Status Parser::limit() {
  GODWIT_CHECK(advance());
  std::uint64_t rows = 0;
  const std::string& text = token_.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
  if (token_.kind != TokenKind::number || error != std::errc() ||
      end != text.data() + text.size()) {
    return failed("LIMIT needs a whole number");
  }
  query_.limit = rows;
  return advance();
}

// Variables that no pattern mentions have no value, so selecting or comparing them is a mistake.
Status Parser::choose_columns() {
  if (select_all_) {
    query_.selected.resize(query_.variables.size());
    std::iota(query_.selected.begin(), query_.selected.end(), 0U);
  }
  for (std::uint32_t number = 0; number < query_.variables.size(); ++number) {
    if (is_bound(number)) continue;
    return fail(ErrorCode::invalid_argument, "the query: ?{} is in no pattern",
                query_.variables[number]);
  }
  if (query_.selected.empty()) {
    return fail(ErrorCode::invalid_argument, "the query: SELECT * finds no variable in it");
  }
  return {};
}

bool Parser::is_bound(std::uint32_t variable) const {
  const QueryTerm wanted = Variable{variable};
  return std::ranges::any_of(query_.patterns, [&](const Pattern& pattern) {
    return pattern.subject == wanted || pattern.predicate == wanted || pattern.object == wanted;
  });
}

Result<QueryTerm> Parser::term(std::string_view what) {
  switch (token_.kind) {
    case TokenKind::variable: return variable();
    case TokenKind::name: {
      auto spelling = expand(prefixes_, token_.text);
      if (!spelling) {
        return failed(fmt::format("the prefix of {} is not declared", token_.text));
      }
      GODWIT_CHECK(advance());
      return *std::move(spelling);
    }
    case TokenKind::term: {
      std::string spelling = std::move(token_.text);
      GODWIT_CHECK(advance());
      return spelling;
    }
    case TokenKind::number: {
      const bool whole = token_.text.find('.') == std::string::npos;
      std::string spelling = fmt::format("\"{}\"^^<http://www.w3.org/2001/XMLSchema#{}>",
                                         token_.text, whole ? "integer" : "decimal");
      GODWIT_CHECK(advance());
      return spelling;
    }
    case TokenKind::word:
    case TokenKind::sign:
    case TokenKind::end: break;
  }
  return failed(what);
}

// The variable that the token names, which is new if it has not been met.
Result<Variable> Parser::variable() {
  const auto found = std::ranges::find(query_.variables, token_.text);
  const auto number = static_cast<std::uint32_t>(found - query_.variables.begin());
  if (found == query_.variables.end()) {
    if (query_.variables.size() == kMaxVariables) {
      return failed(fmt::format("a query has at most {} variables", kMaxVariables));
    }
    query_.variables.push_back(token_.text);
  }
  GODWIT_CHECK(advance());
  return Variable{number};
}

}  // namespace

std::string_view to_string(Comparison comparison) noexcept {
  switch (comparison) {
    case Comparison::equal: return "=";
    case Comparison::not_equal: return "!=";
    case Comparison::less: return "<";
    case Comparison::less_equal: return "<=";
    case Comparison::greater: return ">";
    case Comparison::greater_equal: return ">=";
  }
  return "?";
}

Result<Query> parse_query(std::string_view text) {
  if (text.size() > kMaxQueryBytes) {
    return fail(ErrorCode::invalid_argument, "a query has at most {} bytes, this one {}",
                kMaxQueryBytes, text.size());
  }
  return Parser(text).parse();
}

}  // namespace godwit::graph
