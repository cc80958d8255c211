// Reading JSON text that somebody else wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/error.hpp"

namespace godwit::trace {

// One value with all that is inside it. Reading is lenient, because the writer may be of another
// version: what is missing, or of another kind, reads as empty, 0 or false.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  static constexpr std::size_t kMaxDepth = 32;

  JsonValue() = default;
  // bad_format says at which byte. Values deeper than kMaxDepth are refused; memory is bounded by
  // the text's size, times the size of a value.
  [[nodiscard]] static Result<JsonValue> parse(std::string_view text);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  // An object's member; of several with one name the first.
  [[nodiscard]] const JsonValue& operator[](std::string_view key) const noexcept;
  [[nodiscard]] const std::vector<std::pair<std::string, JsonValue>>& members() const noexcept {
    return members_;
  }
  [[nodiscard]] const std::vector<JsonValue>& items() const noexcept { return items_; }
  [[nodiscard]] std::string_view text() const noexcept;  // of a string
  [[nodiscard]] bool truth() const noexcept { return truth_; }
  [[nodiscard]] double number() const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;  // of a number that is whole and not negative

 private:
  class Parser;

  Kind kind_ = Kind::null;
  bool truth_ = false;
  std::string text_;  // of a number too: converting it would lose digits
  std::vector<JsonValue> items_;
  std::vector<std::pair<std::string, JsonValue>> members_;
};

}  // namespace godwit::trace
