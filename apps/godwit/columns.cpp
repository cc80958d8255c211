#include "columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace godwit::cli {

Columns::Columns(std::initializer_list<std::string_view> headings) : rows_(1) {
  for (std::string_view heading : headings) {
    right_.push_back(heading.starts_with('>'));
    if (right_.back()) heading.remove_prefix(1);
    rows_.front().emplace_back(heading);
  }
}

void Columns::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string Columns::text(std::string_view indent) const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += right_[i] ? fmt::format("{:>{}}", row[i], widths[i])
                        : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return out;
}

}  // namespace godwit::cli
