// The structure of a written value, before its type is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::code {

struct Literal {
  enum class Kind : std::uint8_t { word, quoted, list, object };
  Kind kind = Kind::word;
  std::string text = {};               // word, quoted
  std::vector<Literal> items = {};     // list: the items; object: the values
  std::vector<std::string> keys = {};  // object

  [[nodiscard]] bool is_null() const { return kind == Kind::word && text == "null"; }
  // As it might have been written, shortened; for messages.
  [[nodiscard]] std::string shown() const;
};

// Errors: invalid_argument, saying where.
[[nodiscard]] Result<Literal> parse_literal(std::string_view text);

}  // namespace godwit::code
