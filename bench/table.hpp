// What a suite has to say: rows beside their floors, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "floors/sample.hpp"

namespace godwit::bench {

struct Goal {
  enum class Kind : std::uint8_t { ratio_at_most, ratio_at_least, p50_below_us };
  Kind kind = Kind::ratio_at_most;
  double value = 0;

  [[nodiscard]] std::string text() const;
};

struct Row {
  std::string name = {};
  floors::Sample sample = {};
  std::string floor = {};            // the row this one is held against; empty: none
  std::optional<double> ratio = {};  // to that row
  std::optional<Goal> goal = {};
  std::vector<double> more = {};  // in the columns the table adds

  [[nodiscard]] std::optional<bool> met() const;
};

enum class By : std::uint8_t {
  p50,
  rate,
  // How many times as many calls complete with the same number in flight: floor / subject of p50.
  // Unlike the rate over wall time it is not moved by the moments a side is off its core.
  pace,
};

// Sets a row beside its floor: subject / floor of that figure, if nothing else is said there.
[[nodiscard]] Row beside(Row row, const Row& floor, By by, std::optional<Goal> goal = {});

struct Table {
  std::string suite;
  std::string title;
  std::vector<std::string> more_columns = {};
  std::vector<Row> rows = {};
  std::vector<std::string> notes = {};
};

// Aligned, and Markdown at the same time.
[[nodiscard]] std::string to_text(const Table& table);
// One JSON object.
[[nodiscard]] std::string to_json(const Table& table);

}  // namespace godwit::bench
