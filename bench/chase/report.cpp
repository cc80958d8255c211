#include "chase/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "chart.hpp"
#include "trace/json.hpp"

namespace godwit::bench {
namespace {

using Cells = std::vector<std::string>;

constexpr std::array kNames{"get",         "pipelined_get", "ucp_am", "godwit",
                            "godwit_many", "own_memory",    "mapped"};

const char* name_of(LocalTransport transport) {
  return transport == LocalTransport::tcp ? "tcp" : "shm";
}

std::string number(std::optional<double> value) {
  if (!value) return "";
  if (*value < 0.1) return fmt::format("{:.4f}", *value);
  return fmt::format("{:.{}f}", *value, *value < 10 ? 2 : *value < 100 ? 1 : 0);
}
std::string times(std::optional<double> value) {
  return value ? fmt::format("{:.2f}x", *value) : "";
}

struct Verdict {
  std::string goal;
  std::string met;
};

// The goals of the project; none for most lines.
Verdict verdict_of(const Line& line) {
  const Point& point = line.point;
  std::optional<double> reached;
  double wanted = 0;
  if (point.transport == LocalTransport::tcp && point.nodes == 4 && point.depth == 64) {
    if (point.in_flight == 1) wanted = 1.7;
    if (point.in_flight == 64) wanted = 10;
    // Whoever has that many to follow asks for all of them at once.
    reached = std::max(line.speedup(Column::godwit, Column::get),
                       line.speedup(Column::many, Column::get));
  } else if (line[Column::mapped]) {
    wanted = 0.8;
    reached = line.speedup(Column::mapped, Column::own);
  }
  if (wanted == 0 || !reached) return {};
  return {fmt::format(">= {:.1f}x", wanted), *reached >= wanted ? "yes" : "no"};
}

std::string aligned(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string out;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    out += "|";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      out += fmt::format(" {:>{}} |", lines[line][i], widths[i]);
    }
    out += "\n";
    if (line > 0) continue;
    out += "|";
    for (const std::size_t width : widths) out += std::string(width + 1, '-') + ":|";
    out += "\n";
  }
  return out;
}

// The series of one chart: us per step of those lines that `wanted` takes, over `x`.
template <class Wanted, class X>
std::vector<Series> series_of(std::span<const Line> lines, const Wanted& wanted, const X& x) {
  constexpr std::array kShown{
      std::pair{Column::get, "GET per step"}, std::pair{Column::pipelined, "pipelined GET"},
      std::pair{Column::ucp_am, "ucp_am"}, std::pair{Column::godwit, "godwit"},
      std::pair{Column::many, "chase_many"}};
  std::vector<Series> all;
  for (const auto& [column, name] : kShown) {
    Series series{.name = name, .points = {}};
    for (const Line& line : lines) {
      const auto us = line.us_per_step(column);
      if (us && wanted(line.point)) series.points.emplace_back(x(line.point), *us);
    }
    std::sort(series.points.begin(), series.points.end());
    all.push_back(std::move(series));  // also an empty one: it keeps the colours
  }
  return all;
}

}  // namespace

std::string to_text(std::span<const Line> lines) {
  std::vector<Cells> cells{{"", "nodes", "steps", "in flight", "GET per step", "pipelined GET",
                            "ucp_am", "godwit", "/ GET", "/ ucp_am", "chase_many", "own memory",
                            "mapped", "/ own", "goal", "met"}};
  for (const Line& line : lines) {
    const Point& point = line.point;
    const Verdict verdict = verdict_of(line);
    cells.push_back(
        {name_of(point.transport), fmt::format("{}", point.nodes), fmt::format("{}", point.depth),
         fmt::format("{}", point.in_flight), number(line.us_per_step(Column::get)),
         number(line.us_per_step(Column::pipelined)), number(line.us_per_step(Column::ucp_am)),
         number(line.us_per_step(Column::godwit)), times(line.speedup(Column::godwit, Column::get)),
         times(line.speedup(Column::godwit, Column::ucp_am)),
         number(line.us_per_step(Column::many)), number(line.us_per_step(Column::own)),
         number(line.us_per_step(Column::mapped)), times(line.speedup(Column::mapped, Column::own)),
         verdict.goal, verdict.met});
  }
  return aligned(cells);
}

std::string to_text(std::span<const FarLine> lines) {
  std::vector<Cells> cells{{"delay, one way", "steps", "in flight", "GET per step", "pipelined GET",
                            "godwit", "/ GET", "chase_many"}};
  for (const auto& [delay, line] : lines) {
    cells.push_back(
        {delay, fmt::format("{}", line.point.depth), fmt::format("{}", line.point.in_flight),
         number(line.us_per_step(Column::get)), number(line.us_per_step(Column::pipelined)),
         number(line.us_per_step(Column::godwit)), times(line.speedup(Column::godwit, Column::get)),
         number(line.us_per_step(Column::many))});
  }
  return aligned(cells);
}

std::string to_json(std::span<const Line> lines) {
  trace::Json out;
  out.open('[');
  for (const Line& line : lines) {
    const Point& point = line.point;
    out.open('{').field("transport", name_of(point.transport));
    out.field("nodes", point.nodes).field("depth", point.depth);
    out.field("in_flight", point.in_flight);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const auto& sample = line.samples[i];
      if (!sample) continue;
      out.key(kNames[i]).open('{');
      out.key("us_per_step")
          .raw(fmt::format("{:.5g}", *line.us_per_step(Column{static_cast<std::uint8_t>(i)})));
      out.key("p50_us").raw(fmt::format("{:.5g}", sample->p50_us));
      out.key("p99_us").raw(fmt::format("{:.5g}", sample->p99_us));
      out.field("chases", sample->rounds).close('}');
    }
    out.close('}');
  }
  out.close(']');
  return std::string(out.text());
}

std::string to_svg(std::span<const Line> lines) {
  constexpr auto kTcp = LocalTransport::tcp;
  const auto depth = series_of(
      lines, [](const Point& p) { return p.transport == kTcp && p.nodes == 4 && p.in_flight == 1; },
      [](const Point& p) { return static_cast<double>(p.depth); });
  const auto load = series_of(
      lines, [](const Point& p) { return p.transport == kTcp && p.nodes == 4 && p.depth == 64; },
      [](const Point& p) { return static_cast<double>(p.in_flight); });
  const auto nodes = series_of(
      lines,
      [](const Point& p) { return p.transport == kTcp && p.in_flight == 64 && p.depth == 64; },
      [](const Point& p) { return static_cast<double>(p.nodes); });
  const auto shm = series_of(
      lines,
      [](const Point& p) {
        return p.transport == LocalTransport::shm && p.nodes == 4 && p.depth == 64;
      },
      [](const Point& p) { return static_cast<double>(p.in_flight); });
  const std::string step = "us per step";
  return to_svg(std::vector<Chart>{{"tcp, 4 nodes, one in flight", "steps of a chase", step, depth},
                                   {"tcp, 4 nodes, 64 steps", "chases in flight", step, load},
                                   {"tcp, 64 steps, 64 in flight", "nodes", step, nodes},
                                   {"shm, 4 nodes, 64 steps", "chases in flight", step, shm}});
}

}  // namespace godwit::bench
