#include "query/lexer.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "ntriples/characters.hpp"
#include "ntriples/spelling.hpp"

namespace godwit::graph {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

bool is_name_part(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}

}  // namespace

Result<Token> Lexer::next() {
  skip_space();
  if (at_ >= text_.size()) return Token{TokenKind::end, "", at_};
  const char first = peek();
  if (first == '?' || first == '$') {
    const std::size_t begin = at_++;
    while (is_name_part(peek()) && peek() != '-') ++at_;
    if (at_ == begin + 1) return failed("a variable needs a name, as in ?x");
    return Token{TokenKind::variable, std::string(text_.substr(begin + 1, at_ - begin - 1)), begin};
  }
  if (first == '"' || (first == '<' && is_iri())) return term();
  if (is_digit(first) || ((first == '-' || first == '+') && is_digit(peek(1)))) return number();
  if (is_letter(first) || first == ':') return name_or_word();
  const std::string_view two = text_.substr(at_, 2);
  if (two == "!=" || two == "<=" || two == ">=" || two == "&&") return sign(2);
  if (std::string_view("{}().*=<>").find(first) != std::string_view::npos) return sign(1);
  return failed("this character has no meaning in a query");
}

// A '<' that is no comparison: a '>' ends it before any space.
bool Lexer::is_iri() const noexcept {
  const std::size_t end = text_.find_first_of("> \t\r\n", at_);
  return end != std::string_view::npos && text_[end] == '>';
}

Result<Token> Lexer::term() {
  const std::size_t begin = at_;
  std::size_t end = begin + 1;
  if (text_[begin] == '<') {
    end = text_.find('>', begin) + 1;
  } else {
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text_.size());
    if (end < text_.size() && text_[end] == '@') {
      while (end < text_.size() && (is_name_part(text_[end]) || text_[end] == '@')) ++end;
    } else if (text_.substr(end, 3) == "^^<") {
      const std::size_t close = text_.find('>', end);
      end = close == std::string_view::npos ? text_.size() : close + 1;
    }
  }
  auto spelling = terms_.parse_term(text_.substr(begin, end - begin));
  if (!spelling) {
    at_ = begin;
    return failed(spelling.error().message);
  }
  at_ = end;
  return Token{TokenKind::term, std::string(*spelling), begin};
}

Result<Token> Lexer::number() {
  const std::size_t begin = at_++;
  while (is_digit(peek())) ++at_;
  if (peek() == '.' && is_digit(peek(1))) {
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  if (is_letter(peek())) return failed("a number is written like 42 or -1.5");
  return Token{TokenKind::number, std::string(text_.substr(begin, at_ - begin)), begin};
}

// Dots may stand inside a local name, and not at its end: there they end the pattern.
Result<Token> Lexer::name_or_word() {
  const std::size_t begin = at_;
  while (is_name_part(peek())) ++at_;
  if (peek() != ':') {
    return Token{TokenKind::word, std::string(text_.substr(begin, at_ - begin)), begin};
  }
  ++at_;
  while (is_name_part(peek()) || (peek() == '.' && is_name_part(peek(1)))) ++at_;
  return Token{TokenKind::name, std::string(text_.substr(begin, at_ - begin)), begin};
}

Token Lexer::sign(std::size_t length) {
  Token token{TokenKind::sign, std::string(text_.substr(at_, length)), at_};
  at_ += length;
  return token;
}

void Lexer::skip_space() noexcept {
  while (at_ < text_.size()) {
    if (peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (kSpaces.find(peek()) != std::string_view::npos) {
      ++at_;
    } else {
      return;
    }
  }
}

std::string Lexer::place(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", lines + 1, at - begin + 1);
}

tl::unexpected<Error> Lexer::failed(std::string_view why) const {
  return fail(ErrorCode::invalid_argument, "the query, {}: {}", place(text_, at_), why);
}

}  // namespace godwit::graph
