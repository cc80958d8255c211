// One line of N-Triples (W3C, RDF 1.1), strictly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/triple_sink.hpp"
#include "godwit/error.hpp"

namespace godwit::graph {

// Keeps the room that escapes need from line to line: no allocation for a line that is canonical
// already, whose terms are then pieces of the line itself. One thread.
class LineParser {
 public:
  // The line without its end. Nothing for an empty line or a comment. The views hold until the next
  // line is parsed, or this one's text is gone.
  Result<std::optional<SpelledTriple>> parse(std::string_view line);
  // One term with nothing around it, for people who name one; the same views.
  Result<std::string_view> parse_term(std::string_view text);

  // Where the last parse() failed: counted in characters, from 1.
  [[nodiscard]] std::size_t column() const noexcept;

 private:
  // A term being read: a piece of the line from `begin`, or a copy once it differs from that.
  struct Piece {
    std::size_t begin = 0;
    std::string& copy;
    bool copied = false;
  };
  enum class Position : std::uint8_t { subject, predicate, object };

  Result<std::string_view> term(Position position, std::string& copy);
  Result<std::string_view> iri(std::string& copy);
  Status iri_rest(Piece& piece);
  Result<std::string_view> blank_node();
  Result<std::string_view> literal(std::string& copy);
  Status quoted(Piece& piece);
  Status language(Piece& piece);
  Status datatype(Piece& piece);
  Result<std::uint32_t> escaped_point(bool in_literal);
  Result<std::uint32_t> utf8_point();

  // From here on the term is a copy, of the line up to `end` so far.
  void diverge(Piece& piece, std::size_t end) const;
  [[nodiscard]] std::string_view finish(const Piece& piece) const;
  void skip_blanks() noexcept;
  [[nodiscard]] bool at_end() const noexcept { return at_ >= line_.size(); }
  [[nodiscard]] char peek() const noexcept { return at_end() ? '\0' : line_[at_]; }

  std::string_view line_;
  std::size_t at_ = 0;
  std::string copies_[3];
};

}  // namespace godwit::graph
