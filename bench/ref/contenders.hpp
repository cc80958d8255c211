// Contenders of one table, each beside another of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "interleave.hpp"
#include "table.hpp"

namespace godwit::bench {

class Contenders {
 public:
  struct Beside {
    std::string floor;  // the name of one that was added before
    By by = By::p50;
    std::optional<Goal> goal = {};
  };
  // `bytes` of one round, for MB/s; 0: none are moved.
  void add(std::string name, std::uint64_t bytes, Measure measure,
           std::optional<Beside> beside = {}) {
    all_.push_back({std::move(name), bytes, std::move(measure), std::move(beside)});
  }
  // One that others' polling would disturb.
  void add_floor(std::string name, std::uint64_t bytes, Measure measure) {
    add(std::move(name), bytes, [measure = std::move(measure)] {
      let_pollers_sleep();
      return measure();
    });
  }

  // Measures them in turns, and appends a row for each; the column added, if there is one, is MB/s.
  [[nodiscard]] Status run(std::size_t rounds, Table& table) const {
    std::vector<Measure> measures;
    for (const One& one : all_) measures.push_back(one.measure);
    GODWIT_TRY(const std::vector<Sample> samples,
               interleave(measures, {.seconds = 0, .min_rounds = rounds}));
    const std::size_t first = table.rows.size();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const One& one = all_[i];
      Row row{.name = one.name, .sample = samples[i]};
      if (!table.more_columns.empty()) {
        row.more = {one.bytes == 0 ? 0 : static_cast<double>(one.bytes) / samples[i].p50_us};
      }
      if (one.beside) {
        for (std::size_t j = first; j < table.rows.size(); ++j) {
          if (table.rows[j].name != one.beside->floor) continue;
          row = bench::beside(std::move(row), table.rows[j], one.beside->by, one.beside->goal);
          break;
        }
      }
      table.rows.push_back(std::move(row));
    }
    return {};
  }

 private:
  struct One {
    std::string name;
    std::uint64_t bytes;
    Measure measure;
    std::optional<Beside> beside;
  };
  std::vector<One> all_;
};

}  // namespace godwit::bench
