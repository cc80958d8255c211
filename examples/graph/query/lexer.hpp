// A query's text, cut into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/error.hpp"
#include "ntriples/line_parser.hpp"

namespace godwit::graph {

enum class TokenKind : std::uint8_t {
  word,      // SELECT, a
  variable,  // ?x; the text is x
  name,      // ub:advisor, or the ub: of a declaration
  term,      // an IRI, a literal or a number, spelled canonically
  number,    // a bare number, spelled as typed; LIMIT wants one
  sign,      // { } ( ) . * = != < <= > >= &&
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t at = 0;  // where it begins in the query
};

// One thread.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // Fails on what is no token, with its line and column.
  Result<Token> next();
  // "line 2, column 7" for a place in the text.
  [[nodiscard]] static std::string place(std::string_view text, std::size_t at);

 private:
  void skip_space() noexcept;
  Result<Token> term();
  Result<Token> number();
  Result<Token> name_or_word();
  [[nodiscard]] Token sign(std::size_t length);
  [[nodiscard]] bool is_iri() const noexcept;
  [[nodiscard]] tl::unexpected<Error> failed(std::string_view why) const;
  [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  LineParser terms_;
};

}  // namespace godwit::graph
