// Line charts as SVG, both axes logarithmic.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace godwit::bench {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // above zero; others are left out
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
};

// One picture with the charts side by side; it needs no font, script or file of its own.
[[nodiscard]] std::string to_svg(const std::vector<Chart>& charts);

}  // namespace godwit::bench
