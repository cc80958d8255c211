#include "status_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line/columns.hpp"
#include "duration.hpp"

namespace godwit::cli {
namespace {

using trace::JsonValue;

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kIdDigits = 12;  // enough of a hash for people

std::string shown(const JsonValue& value) {
  return printable(value.text());
}

std::string number_of(const JsonValue& value) {
  return fmt::format("{}", value.count());
}

std::string mebibytes(const JsonValue& value) {
  return fmt::format("{:.1f} MiB", static_cast<double>(value.count()) / (1U << 20U));
}

// Of a number of milliseconds.
std::string duration_of(const JsonValue& value) {
  constexpr std::uint64_t kMostMs = INT64_MAX / 1'000'000;  // in nanoseconds they must fit
  return format_age(std::chrono::milliseconds(std::min(value.count(), kMostMs)));
}

// The headings of a list tell how much of it is there.
std::string heading(std::string_view title, const JsonValue& total, std::size_t shown) {
  if (total.count() <= shown) return fmt::format("\n{}\n", title);
  return fmt::format("\n{} ({} of {}; the rest is too long for a status)\n", title, shown,
                     total.count());
}

std::string summary(const JsonValue& status) {
  const JsonValue& calls = status["calls"];
  const JsonValue& workers = status["workers"];
  const JsonValue& code = status["code"];
  std::string out =
      fmt::format("{}  {}  up {}, epoch {}, pid {}\n", shown(status["name"]), shown(status["id"]),
                  duration_of(status["uptime_ms"]), status["epoch"].count(), status["pid"].count());
  out += fmt::format("  machine    {}, {}, {}\n", shown(status["machine"]),
                     status["cpu"].text().empty() ? "CPU unknown" : shown(status["cpu"]),
                     status["has_jit"].truth() ? "JIT" : "no JIT");
  for (const JsonValue& address : status["addresses"].items()) {
    out += fmt::format("  listens    {}\n", shown(address));
  }
  out += fmt::format("  calls      inside {}, made to others {}, travelling {}\n",
                     calls["inside"].count(), calls["made"].count(), calls["travelling"].count());
  const std::uint64_t queued = workers["queued"].count();
  out += fmt::format("  workers    {}: running {}, queued {}, waiting for calls {} of {}\n",
                     workers["limit"].count(),
                     calls["on_workers"].count() - std::min(calls["on_workers"].count(), queued),
                     queued, workers["blocked"].count(), workers["blocked_limit"].count());
  out += fmt::format("  code       {} of {}: bundles {}, retired {}, evictions {}\n",
                     mebibytes(code["memory_bytes"]), mebibytes(code["budget_bytes"]),
                     code["bundles_total"].count(), mebibytes(code["retired_bytes"]),
                     code["evictions"].count());
  const JsonValue& regions = status["regions"];
  if (regions["budget_bytes"].count() != 0) {
    out += fmt::format("  regions    {} of {}: known {}\n", mebibytes(regions["memory_bytes"]),
                       mebibytes(regions["budget_bytes"]), regions["known_total"].count());
  }
  const JsonValue& objects = status["objects"];
  if (objects["budget_bytes"].count() != 0) {
    out += fmt::format("  objects    {} of {}: {}, pins {}, borrows {}, holders {}\n",
                       mebibytes(objects["held_bytes"]), mebibytes(objects["budget_bytes"]),
                       objects["count"].count(), objects["pins"].count(),
                       objects["borrows"].count(), objects["holders"].count());
  }
  out += fmt::format("  overdue    {}\n", calls["overdue"].count());
  return out;
}

std::string overdue(const JsonValue& status) {
  Columns columns({"FUNCTION", "BUNDLE", "CALLER", ">RUNNING", ">PAST DEADLINE"});
  for (const JsonValue& one : status["overdue"].items()) {
    columns.add({shown(one["function"]), shown(one["bundle"]), shown(one["caller"]),
                 duration_of(one["running_ms"]), duration_of(one["overdue_ms"])});
  }
  if (columns.empty()) return {};
  return heading("Overdue functions: they cannot be interrupted, and keep a worker each",
                 status["overdue_total"], status["overdue"].items().size()) +
         columns.text(kIndent);
}

std::string links(const JsonValue& status) {
  Columns columns(
      {"PEER", "ID", "TRANSPORT", ">CALLS IN", ">CALLS OUT", ">WAITING", ">CREDITS LEFT"});
  for (const JsonValue& one : status["links"].items()) {
    columns.add({shown(one["peer"]), shown(one["peer_id"]), shown(one["transport"]),
                 number_of(one["calls_in"]), number_of(one["calls_out"]),
                 number_of(one["calls_waiting"]),
                 fmt::format("{}/{}", one["credits_left"].count(), one["credits"].count())});
  }
  if (columns.empty()) return {};
  return heading("Links", status["links_total"], status["links"].items().size()) +
         columns.text(kIndent);
}

std::string bundles(const JsonValue& code) {
  Columns columns({"BUNDLE", "ID", "STATE", "TIER", ">MEMORY", ">CALLS", ">INSIDE", "PINNED"});
  for (const JsonValue& one : code["bundles"].items()) {
    const bool failed = !one["error"].text().empty();
    columns.add({shown(one["name"]), shown(one["id"]).substr(0, kIdDigits), shown(one["state"]),
                 shown(one["tier"]), mebibytes(one["memory_bytes"]), number_of(one["calls"]),
                 number_of(one["calls_inside"]),
                 failed ? shown(one["error"]) : shown(one["pinned"])});
  }
  if (columns.empty()) return {};
  return heading("Code", code["bundles_total"], code["bundles"].items().size()) +
         columns.text(kIndent);
}

std::string regions(const JsonValue& regions) {
  Columns columns({"REGION", "STATE", "TYPE", ">ELEMENTS", ">SHARDS", ">LOST", ">SHARD HERE"});
  for (const JsonValue& one : regions["known"].items()) {
    const bool here = one["shard"].kind() == JsonValue::Kind::number;
    const std::string bytes = one["shard_lost"].truth() ? "lost" : mebibytes(one["shard_bytes"]);
    columns.add({shown(one["name"]), shown(one["state"]), shown(one["type"]),
                 number_of(one["elements"]), number_of(one["shards"]),
                 number_of(one["shards_lost"]), here ? bytes : ""});
  }
  if (columns.empty()) return {};
  return heading("Regions", regions["known_total"], regions["known"].items().size()) +
         columns.text(kIndent);
}

std::string counters(const JsonValue& status) {
  std::string out;
  for (const auto& [name, value] : status["counters"].members()) {
    if (value.count() != 0) out += fmt::format("  {:<24}{}\n", printable(name), value.count());
  }
  return out.empty() ? out : "\nCounters that are not 0\n" + out;
}

}  // namespace

std::string status_text(const JsonValue& status) {
  return summary(status) + overdue(status) + links(status) + bundles(status["code"]) +
         regions(status["regions"]) + counters(status);
}

}  // namespace godwit::cli
