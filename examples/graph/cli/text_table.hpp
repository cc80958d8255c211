// Tables for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::graph::cli {

// Rows of aligned cells under headings. A heading that begins with '>' aligns its column to the
// right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings);
  // As many cells as there are headings.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Every line with a newline at its end.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Digits in groups of three: 1,234,567.
[[nodiscard]] std::string grouped(std::uint64_t number);
// One field of a CSV file (RFC 4180), in quotes if it needs them.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace godwit::graph::cli
