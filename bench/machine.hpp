// The machine the figures are of.
#pragma once

#include <string>

namespace godwit::bench {

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  double load = 0;  // runnable processes over the last minute, as measuring began

  // Above this the figures say more about the other programs than about this one.
  static constexpr double kBusyLoad = 1.0;
};

[[nodiscard]] Machine describe_machine();
// One line, without its end, to stand above the figures.
[[nodiscard]] std::string to_text(const Machine& machine);
[[nodiscard]] std::string to_json(const Machine& machine);

}  // namespace godwit::bench
