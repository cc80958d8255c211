#include "storage/report.hpp"

#include <fmt/format.h>

#include "trace/json.hpp"

namespace godwit::bench {
namespace {

constexpr std::array<const char*, kWays> kWayNames{"at_data", "select", "pull"};

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

double ratio(const StorageLine& line, Way way) {
  return line.by(Way::pull).seconds / line.by(way).seconds;
}

}  // namespace

std::string to_text(std::span<const StorageLine> lines) {
  std::string out = fmt::format(
      "| {:<14} | {:>7} | {:>10} | {:>10} | {:>10} | {:>10} | {:>10} | {:>10} | {:>9} | {:>9} |\n",
      "path", "match", "summary ms", "select ms", "pull ms", "summary", "selected", "pulled",
      "pull/summ", "pull/sel");
  out += fmt::format(
      "|{:-<16}|{:->8}:|{:->11}:|{:->11}:|{:->11}:|{:->11}:|{:->11}:|{:->11}:|{:->10}:|{:->10}:|\n",
      "", "", "", "", "", "", "", "", "", "");
  for (const StorageLine& line : lines) {
    out += fmt::format(
        "| {:<14} | {:>5.4g} % | {:>10.2f} | {:>10.2f} | {:>10.2f} | {:>10} | {:>10} | {:>10} | "
        "{:>9.2f} | {:>9.2f} |\n",
        line.path, line.share * 100, line.by(Way::at_data).seconds * 1e3,
        line.by(Way::select).seconds * 1e3, line.by(Way::pull).seconds * 1e3,
        bytes_text(line.by(Way::at_data).bytes), bytes_text(line.by(Way::select).bytes),
        bytes_text(line.by(Way::pull).bytes), ratio(line, Way::at_data), ratio(line, Way::select));
  }
  return out;
}

std::string to_json(std::span<const StorageLine> lines) {
  trace::Json out;
  out.open('[');
  for (const StorageLine& line : lines) {
    out.open('{').field("path", line.path).key("share").raw(fmt::format("{}", line.share));
    for (std::size_t way = 0; way < kWays; ++way) {
      out.key(kWayNames[way]).open('{').field("ms", line.ways[way].seconds * 1e3);
      out.field("bytes", line.ways[way].bytes);
      out.field("times_pull", ratio(line, static_cast<Way>(way))).close('}');
    }
    out.close('}');
  }
  return out.close(']').text();
}

}  // namespace godwit::bench
