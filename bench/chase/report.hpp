// Lines of chases for people, programs and eyes.
#pragma once

#include <span>
#include <string>

#include "chase/point.hpp"

namespace godwit::bench {

// Aligned, and Markdown at the same time. Times are us per step.
[[nodiscard]] std::string to_text(std::span<const Line> lines);
// A JSON array, one object for each line.
[[nodiscard]] std::string to_json(std::span<const Line> lines);
// What depth, load and nodes do, over tcp where there is no choice.
[[nodiscard]] std::string to_svg(std::span<const Line> lines);

// Under a distance: the delay stands in place of transport and nodes.
struct FarLine {
  std::string delay;
  Line line;
};
[[nodiscard]] std::string to_text(std::span<const FarLine> lines);

}  // namespace godwit::bench
