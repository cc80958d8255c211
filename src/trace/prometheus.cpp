#include "trace/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <iterator>
#include <tuple>
#include <vector>

namespace godwit::trace {
namespace {

// A sample's name, cut into the family's name and what stands between the braces.
struct SeriesName {
  std::string family;
  std::string labels;
};

SeriesName split(std::string_view name, std::string_view prefix) {
  const std::size_t brace = name.find('{');
  SeriesName series{std::string(prefix), {}};
  for (const char c : name.substr(0, brace)) {
    series.family += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  }
  if (brace != std::string_view::npos) {
    series.labels = name.substr(brace + 1);
    if (series.labels.ends_with('}')) series.labels.pop_back();
  }
  return series;
}

std::string escape_help(std::string_view help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

// name{labels,extra}, with the braces only if there is something between them.
std::string series(std::string_view family, std::string_view suffix, std::string_view labels,
                   std::string_view extra = {}) {
  std::string text = fmt::format("{}{}", family, suffix);
  if (labels.empty() && extra.empty()) return text;
  const std::string_view comma = labels.empty() || extra.empty() ? "" : ",";
  return fmt::format("{}{{{}{}{}}}", text, labels, comma, extra);
}

void append(std::string& out, const SeriesName& name, std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "{} {}\n", series(name.family, "", name.labels), value);
}

void append(std::string& out, const SeriesName& name, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{} {}\n", series(name.family, "", name.labels), value);
}

void append(std::string& out, const SeriesName& name, const HistogramSnapshot& histogram) {
  auto line = std::back_inserter(out);
  const auto octaves = static_cast<unsigned>(std::bit_width(histogram.max));
  for (unsigned exponent = 0; exponent <= std::min(octaves, 63U); ++exponent) {
    // Values are integers: "below 2^n" is "at most 2^n - 1".
    const std::string le = fmt::format("le=\"{}\"", (std::uint64_t{1} << exponent) - 1);
    fmt::format_to(line, "{} {}\n", series(name.family, "_bucket", name.labels, le),
                   histogram.count_below_power(exponent));
  }
  fmt::format_to(line, "{} {}\n", series(name.family, "_bucket", name.labels, "le=\"+Inf\""),
                 histogram.count);
  fmt::format_to(line, "{} {}\n", series(name.family, "_sum", name.labels), histogram.sum);
  fmt::format_to(line, "{} {}\n", series(name.family, "_count", name.labels), histogram.count);
}

constexpr std::string_view kTypeNames[] = {"counter", "gauge", "histogram"};

}  // namespace

std::string prometheus_text(std::span<const Sample> samples, std::string_view prefix) {
  struct Row {
    SeriesName name;
    const Sample* sample;
  };
  std::vector<Row> rows;
  rows.reserve(samples.size());
  for (const Sample& sample : samples) {
    SeriesName name = split(sample.name, prefix);
    if (sample.value.index() == 0 && !name.family.ends_with("_total")) name.family += "_total";
    rows.push_back({std::move(name), &sample});
  }
  // The lines of a family must stand together; "a{x}" and "ab" do not sort that way by full name.
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.name.family, a.name.labels) < std::tie(b.name.family, b.name.labels);
  });

  std::string out;
  std::string_view family;
  for (const Row& row : rows) {
    if (row.name.family != family) {
      family = row.name.family;
      fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", family,
                     escape_help(row.sample->help), family, kTypeNames[row.sample->value.index()]);
    }
    std::visit([&](const auto& value) { append(out, row.name, value); }, row.sample->value);
  }
  return out;
}

}  // namespace godwit::trace
