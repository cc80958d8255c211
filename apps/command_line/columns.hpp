// Tables for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::cli {

// Rows of aligned cells, the first of them the headings. A heading that begins with '>' aligns its
// column to the right; the last column is as wide as it needs to be.
class Columns {
 public:
  explicit Columns(std::vector<std::string> headings);
  // As many cells as there are headings.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.size() <= 1; }
  // Every line behind `indent` and with a newline at its end.
  [[nodiscard]] std::string text(std::string_view indent = "") const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Text from elsewhere, harmless to a terminal: control characters become '?'.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace godwit::cli
