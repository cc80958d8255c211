#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace godwit::bench {
namespace {

constexpr double kWidth = 430;
constexpr double kHeight = 330;
constexpr double kLeft = 62;
constexpr double kTop = 34;
constexpr double kRight = 14;
constexpr double kBottom = 92;  // for the axis and the legend
constexpr std::array kColours{"#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2", "#6cc5b0"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string label(double value) {
  return value >= 1e6   ? fmt::format("{:g}M", value / 1e6)
         : value >= 1e4 ? fmt::format("{:g}k", value / 1e3)
                        : fmt::format("{:g}", value);
}

// Whole powers of `base` that hold all values.
struct Axis {
  double base = 10;
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();

  void hold(double value) {
    const double power = std::log(value) / std::log(base);
    low = std::min(low, static_cast<int>(std::floor(power + 1e-9)));
    high = std::max(high, static_cast<int>(std::ceil(power - 1e-9)));
  }
  [[nodiscard]] double place(double value) const {
    const double power = std::log(value) / std::log(base);
    return high == low ? 0.5 : (power - low) / (high - low);
  }
  [[nodiscard]] int step() const { return std::max(1, (high - low + 6) / 7); }
};

bool is_drawn(const std::pair<double, double>& point) {
  return point.first > 0 && point.second > 0;
}

class Panel {
 public:
  Panel(const Chart& chart, double x) : chart_(chart), x_(x) {
    for (const Series& series : chart.series) {
      for (const auto& point : series.points) {
        if (!is_drawn(point)) continue;
        across_.hold(point.first);
        up_.hold(point.second);
      }
    }
  }

  std::string text() const {
    std::string out = words(x_ + kLeft, kTop - 14, "start", "font-weight=\"bold\"", chart_.title);
    if (across_.low > across_.high) return out + words(x_ + kLeft, kTop, "start", "", "no values");
    out += axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) out += line(i);
    return out;
  }

 private:
  static std::string words(double x, double y, const char* anchor, const char* more,
                           std::string_view text) {
    return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" {}>{}</text>)"
                       "\n",
                       x, y, anchor, more, escaped(text));
  }
  [[nodiscard]] double x_of(double value) const {
    return x_ + kLeft + across_.place(value) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y_of(double value) const {
    return kHeight - kBottom - up_.place(value) * (kHeight - kTop - kBottom);
  }

  [[nodiscard]] std::string axes() const {
    std::string out;
    const double bottom = kHeight - kBottom;
    for (int power = up_.low; power <= up_.high; power += up_.step()) {
      const double value = std::pow(up_.base, power);
      out += fmt::format(R"(<path d="M{:.1f} {:.1f}H{:.1f}" stroke="#ddd"/>)"
                         "\n",
                         x_ + kLeft, y_of(value), x_ + kWidth - kRight);
      out += words(x_ + kLeft - 6, y_of(value) + 4, "end", "", label(value));
    }
    for (int power = across_.low; power <= across_.high; power += across_.step()) {
      const double value = std::pow(across_.base, power);
      out += words(x_of(value), bottom + 16, "middle", "", label(value));
    }
    out += fmt::format(R"(<path d="M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}" stroke="#333" fill="none"/>)"
                       "\n",
                       x_ + kLeft, kTop, bottom, x_ + kWidth - kRight);
    out += words(x_ + (kLeft + kWidth - kRight) / 2, bottom + 33, "middle", "", chart_.x_label);
    const double middle = (kTop + bottom) / 2;
    const std::string turn =
        fmt::format(R"x(transform="rotate(-90 {0:.1f} {1:.1f})")x", x_ + 14, middle);
    return out + words(x_ + 14, middle, "middle", turn.c_str(), chart_.y_label);
  }

  [[nodiscard]] std::string line(std::size_t index) const {
    const Series& series = chart_.series[index];
    const char* colour = kColours[index % kColours.size()];
    std::string path;
    std::string out;
    for (const auto& point : series.points) {
      if (!is_drawn(point)) continue;
      const double x = x_of(point.first);
      const double y = y_of(point.second);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
      out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)"
                         "\n",
                         x, y, colour);
    }
    if (path.empty()) return {};
    out += fmt::format(R"(<path d="{}" stroke="{}" stroke-width="2" fill="none"/>)"
                       "\n",
                       path, colour);
    const double x = x_ + kLeft + static_cast<double>(index % 3) * 120;
    const double y = kHeight - 32 + static_cast<double>(index / 3) * 16;
    out += fmt::format(R"(<path d="M{:.1f} {:.1f}h16" stroke="{}" stroke-width="3"/>)"
                       "\n",
                       x, y - 4, colour);
    return out + words(x + 21, y, "start", "", series.name);
  }

  const Chart& chart_;
  double x_;
  Axis across_{.base = 2};
  Axis up_{.base = 10};
};

}  // namespace

std::string to_svg(const std::vector<Chart>& charts) {
  const double width = kWidth * static_cast<double>(charts.size());
  std::string out =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" )"
                  R"(width="{0:.0f}" height="{1:.0f}" font-family="sans-serif" font-size="12">)"
                  "\n"
                  R"(<rect width="100%" height="100%" fill="white"/>)"
                  "\n",
                  width, kHeight);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    out += Panel(charts[i], kWidth * static_cast<double>(i)).text();
  }
  return out + "</svg>\n";
}

}  // namespace godwit::bench
