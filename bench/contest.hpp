// A suite's rows, gathered before they are measured: floors and subjects that take turns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "floors/fork_server.hpp"
#include "interleave.hpp"
#include "table.hpp"

namespace godwit::bench {

class Contest {
 public:
  explicit Contest(floors::ForkServer& floors) : floors_(floors) {}

  template <class Options>
  void add_floor(std::string name, const Options& options) {
    add(std::move(name), [this, options] {
      let_pollers_sleep();
      return floors_.measure(options);
    });
  }
  // What `measure` refers to must live until run() is over.
  void add(std::string name, Measure measure) {
    names_.push_back(std::move(name));
    contenders_.push_back(std::move(measure));
  }
  // One row per contender, in the order they were added.
  [[nodiscard]] Result<std::vector<Row>> run(const Effort& effort) const {
    GODWIT_TRY(const std::vector<Sample> samples, interleave(contenders_, effort));
    std::vector<Row> rows;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      rows.push_back({.name = names_[i], .sample = samples[i]});
    }
    return rows;
  }

 private:
  floors::ForkServer& floors_;
  std::vector<std::string> names_;
  std::vector<Measure> contenders_;
};

}  // namespace godwit::bench
