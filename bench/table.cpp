#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trace/json.hpp"

namespace godwit::bench {
namespace {

using Cells = std::vector<std::string>;

// Three significant digits are what a noisy machine can justify.
std::string number(double value) {
  if (value == 0) return "";
  if (value < 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

Cells cells_of(const Row& row) {
  const floors::Sample& sample = row.sample;
  Cells cells{row.name,
              number(sample.p50_us),
              number(sample.p99_us),
              number(sample.p999_us),
              number(sample.mean_us),
              sample.rate_per_s > 0 ? fmt::format("{:.0f}", sample.rate_per_s) : ""};
  for (const double value : row.more) cells.push_back(number(value));
  cells.push_back(row.floor);
  cells.push_back(row.ratio ? fmt::format("{:.2f}x", *row.ratio) : "");
  cells.push_back(row.goal ? row.goal->text() : "");
  cells.push_back(!row.met() ? "" : *row.met() ? "yes" : "no");
  return cells;
}

std::string line_of(const Cells& cells, const std::vector<std::size_t>& widths) {
  std::string line = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += i == 0 ? fmt::format(" {:<{}} |", cells[i], widths[i])
                   : fmt::format(" {:>{}} |", cells[i], widths[i]);
  }
  return line + "\n";
}

void append_field(std::string& out, std::string_view name, double value) {
  trace::append_json_string(out, name);
  out += fmt::format(": {:.4g}, ", value);
}

std::string json_of(const Row& row, const std::vector<std::string>& more_columns) {
  std::string out = R"({"name": )";
  trace::append_json_string(out, row.name);
  out += ", ";
  append_field(out, "p50_us", row.sample.p50_us);
  append_field(out, "p99_us", row.sample.p99_us);
  append_field(out, "p999_us", row.sample.p999_us);
  append_field(out, "mean_us", row.sample.mean_us);
  append_field(out, "rate_per_s", row.sample.rate_per_s);
  for (std::size_t i = 0; i < row.more.size(); ++i) append_field(out, more_columns[i], row.more[i]);
  if (row.ratio) {
    out += R"("beside": )";
    trace::append_json_string(out, row.floor);
    out += ", ";
    append_field(out, "ratio", *row.ratio);
  }
  if (row.goal) {
    out += R"("goal": )";
    trace::append_json_string(out, row.goal->text());
    out += fmt::format(R"(, "met": {}, )", *row.met());
  }
  return out + fmt::format(R"("calls": {}}})", row.sample.rounds);
}

}  // namespace

std::string Goal::text() const {
  switch (kind) {
    case Kind::ratio_at_most: return fmt::format("<= {:.2f}x", value);
    case Kind::ratio_at_least: return fmt::format(">= {:.2f}x", value);
    case Kind::p50_below_us: return fmt::format("< {:.0f} us", value);
  }
  return {};
}

std::optional<bool> Row::met() const {
  if (!goal) return std::nullopt;
  switch (goal->kind) {
    case Goal::Kind::ratio_at_most: return ratio.value_or(0) <= goal->value;
    case Goal::Kind::ratio_at_least: return ratio.value_or(0) >= goal->value;
    case Goal::Kind::p50_below_us: return sample.p50_us < goal->value;
  }
  return std::nullopt;
}

Row beside(Row row, const Row& floor, By by, std::optional<Goal> goal) {
  const floors::Sample& subject = row.sample;
  const floors::Sample& base = floor.sample;
  row.floor = floor.name;
  switch (by) {
    case By::p50: row.ratio = subject.p50_us / base.p50_us; break;
    case By::rate: row.ratio = subject.rate_per_s / base.rate_per_s; break;
    case By::pace: row.ratio = base.p50_us / subject.p50_us; break;
  }
  row.goal = goal;
  return row;
}

std::string to_text(const Table& table) {
  Cells head{"row", "p50 us", "p99 us", "p99.9 us", "mean us", "rate /s"};
  head.insert(head.end(), table.more_columns.begin(), table.more_columns.end());
  head.insert(head.end(), {"beside", "ratio", "goal", "met"});
  std::vector<Cells> lines{head};
  for (const Row& row : table.rows) {
    Row padded = row;
    padded.more.resize(table.more_columns.size());
    lines.push_back(cells_of(padded));
  }
  std::vector<std::size_t> widths(head.size(), 3);
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string out = line_of(lines.front(), widths) + "|";
  for (std::size_t i = 0; i < widths.size(); ++i) {
    out += i == 0 ? std::string(widths[i] + 2, '-') + "|" : std::string(widths[i] + 1, '-') + ":|";
  }
  out += "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) out += line_of(lines[i], widths);
  for (const std::string& note : table.notes) out += "\n" + note + "\n";
  return out;
}

std::string to_json(const Table& table) {
  std::string out = R"({"suite": )";
  trace::append_json_string(out, table.suite);
  out += R"(, "title": )";
  trace::append_json_string(out, table.title);
  out += R"(, "rows": [)";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    out += (i == 0 ? "\n    " : ",\n    ") + json_of(table.rows[i], table.more_columns);
  }
  return out + "]}";
}

}  // namespace godwit::bench
