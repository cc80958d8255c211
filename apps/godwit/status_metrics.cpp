#include "status_metrics.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "trace/prometheus.hpp"

namespace godwit::cli {
namespace {

using trace::JsonValue;
using trace::Sample;

// What a status says of the moment, by the object it stands in ("" for the status itself).
struct Level {
  std::string_view object;
  std::string_view key;
  std::string_view metric;
  std::string_view help;
};
constexpr Level kLevels[] = {
    {"calls", "inside", "calls_inside", "Calls inside the node"},
    {"calls", "made", "calls_made", "Calls it made that have not ended"},
    {"calls", "on_workers", "calls_on_workers", "Calls that run or are queued for workers"},
    {"calls", "travelling", "calls_travelling", "Calls taken in here that went on elsewhere"},
    {"workers", "limit", "workers", "Functions that may run at the same time"},
    {"workers", "queued", "calls_queued", "Calls that wait for a worker"},
    {"workers", "blocked", "functions_blocked", "Functions that wait for calls of their own"},
    {"code", "memory_bytes", "code_memory_bytes", "Memory of bundles and loaded code"},
    {"code", "budget_bytes", "code_budget_bytes", "What that memory may grow to"},
    {"code", "retired_bytes", "code_retired_bytes", "Of it, code that is mapped but replaced"},
    {"code", "bundles_total", "bundles", "Bundles and retired libraries"},
    {"objects", "count", "objects", "Objects that the node is the home of"},
    {"objects", "used_bytes", "object_used_bytes", "Memory in objects"},
    {"objects", "held_bytes", "object_held_bytes", "Memory held for objects"},
    {"objects", "budget_bytes", "object_budget_bytes", "What that memory may grow to"},
    {"objects", "pins", "object_pins", "Readers that have an object at the moment"},
    {"objects", "borrows", "object_borrows", "Borrows of objects that were not given back"},
    {"objects", "holders", "object_holders", "Processes that hold something of its objects"},
    {"", "links_total", "links", "Links to peers"},
};

struct Help {
  std::string_view counter;
  std::string_view help;
};
constexpr Help kHelp[] = {
    {"calls_started", "Calls it made"},
    {"calls_ended", "Of those, calls that have ended"},
    {"calls_taken", "Calls of others that it accepted"},
    {"calls_resent", "Idempotent calls sent again after a node was lost"},
    {"late_replies", "Replies to calls that had ended"},
    {"need_code_sent", "Questions for code"},
    {"code_sent", "Bundles given to others"},
    {"code_bytes_sent", "Their bytes"},
    {"hops_sent", "Travelling calls passed on"},
    {"credits_violated", "Calls beyond what a peer was granted"},
    {"inline_overruns", "Inline functions that kept the polling thread too long"},
    {"protocol_errors", "Messages that make no sense"},
    {"status_asked", "Questions for the status"},
    {"objects_put", "Objects put"},
    {"objects_resolved", "Reads of objects"},
    {"objects_evicted", "Objects that were evicted"},
    {"objects_expired", "Objects whose lifetime ended"},
    {"object_holders_lost", "Processes that ended, or fell silent, while they held objects"},
    {"functions_overdue", "Functions that outlived their deadline"},
    {"functions_overdue_now", "Of those, functions that still run"},
};

std::string_view help_of(std::string_view counter) {
  for (const Help& known : kHelp) {
    if (known.counter == counter) return known.help;
  }
  return "Counted by the node";
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

class Samples {
 public:
  void level(std::string_view metric, std::string_view help, std::uint64_t value) {
    add(metric, help, static_cast<std::int64_t>(value));
  }
  void count(std::string_view metric, std::string_view help, std::uint64_t value) {
    add(metric, help, value);
  }
  void of_node(std::string_view name) { label_ = fmt::format("node=\"{}\"", label_value(name)); }
  [[nodiscard]] const std::vector<Sample>& all() const { return all_; }

 private:
  // Names come from the node too, and a brace would begin the labels.
  template <class Value>
  void add(std::string_view metric, std::string_view help, Value value) {
    const std::string_view name = metric.substr(0, metric.find('{'));
    all_.push_back({fmt::format("{}{{{}}}", name, label_), std::string(help), value});
  }

  std::string label_;
  std::vector<Sample> all_;
};

void add_status(Samples& samples, const JsonValue& status) {
  samples.level("uptime_seconds", "Since the node's start", status["uptime_ms"].count() / 1000);
  for (const Level& level : kLevels) {
    const JsonValue& object = level.object.empty() ? status : status[level.object];
    samples.level(level.metric, level.help, object[level.key].count());
  }
  samples.count("evictions", "Bundles evicted to keep within the budget",
                status["code"]["evictions"].count());
  for (const auto& [name, value] : status["counters"].members()) {
    // What goes up and down is named so.
    if (name.ends_with("_now")) {
      samples.level(name, help_of(name), value.count());
    } else {
      samples.count(name, help_of(name), value.count());
    }
  }
}

}  // namespace

std::string status_metrics(std::span<const AskedNode> nodes) {
  Samples samples;
  for (const AskedNode& node : nodes) {
    samples.of_node(node.name);
    samples.level("up", "Whether the node told its status", node.status != nullptr ? 1 : 0);
    if (node.status != nullptr) add_status(samples, *node.status);
  }
  return trace::prometheus_text(samples.all());
}

}  // namespace godwit::cli
