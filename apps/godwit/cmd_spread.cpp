#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "command.hpp"
#include "command_line/byte_text.hpp"
#include "command_line/columns.hpp"
#include "command_line/transfer_bar.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "godwit/spread.hpp"
#include "object_word.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

struct SpreadOrder {
  ConnectOptions connection;
  std::string object;
  std::string to = "all";
  std::string keep = "60s";
  std::string within = "60s";
  std::uint32_t fan_out = SpreadOptions{}.fan_out;
};

// NODE,NODE or all.
tl::expected<std::vector<std::uint64_t>, Failed> nodes_of(const Fleet& fleet,
                                                          const std::string& list) {
  std::vector<std::uint64_t> ids;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, word));
    for (const NodeHandle& node : nodes) ids.push_back(node.id());
  }
  return ids;
}

tl::expected<std::chrono::nanoseconds, Failed> time_of(const char* option,
                                                       const std::string& text) {
  const auto time = parse_duration(text);
  if (time) return *time;
  return tl::unexpected(Failed(Exit::usage, {ErrorCode::invalid_argument,
                                             fmt::format("{}: {}", option, time.error().message)}));
}

std::string parent_name(const Fleet& fleet, const SpreadReport::Node& node) {
  return node.parent == 0 ? "-" : process_name(fleet, node.parent);
}

void print_text(const Fleet& fleet, const SpreadReport& report) {
  Columns columns({"NODE", "FROM", ">SIZE", ">TIME", "STATE"});
  for (const SpreadReport::Node& node : report.nodes) {
    const bool copied = !node.error && node.parent != 0;
    columns.add({process_name(fleet, node.node), parent_name(fleet, node),
                 copied ? byte_text(node.bytes) : "-", copied ? format_duration(node.time) : "-",
                 node.error ? node.error->message
                 : copied   ? "has a copy"
                            : "is the home"});
  }
  fmt::print("{}\n", columns.text());
}

void print_json(const Fleet& fleet, const SpreadReport& report) {
  trace::Json out;
  out.open('{').key("nodes").open('[');
  for (const SpreadReport::Node& node : report.nodes) {
    out.open('{').field("node", process_name(fleet, node.node));
    if (node.error) {
      out.field("code", to_string(node.error->code)).field("message", node.error->message);
    } else if (node.parent != 0) {
      out.field("from", process_name(fleet, node.parent)).field("bytes", node.bytes);
      out.field("time_ns", node.time.count()).field("copy", node.copy.to_text());
    }
    out.close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

// The home tells of all copies at once, so that the bar says only what is to come and what came.
Result<SpreadReport> spread_with_bar(const Fleet& fleet, const Handle& handle,
                                     const std::vector<std::uint64_t>& nodes,
                                     const SpreadOptions& options) {
  const auto copies = static_cast<std::uint64_t>(
      std::ranges::count_if(nodes, [&](std::uint64_t node) { return node != handle.home; }));
  const bool is_known = handle.size != Handle::kSizeUnknown;
  TransferBar bar("spreading", is_known ? copies * handle.size : 0);
  bar.show(0);
  GODWIT_TRY(SpreadReport report, detail::spread(fleet.objects(), handle, nodes, options));
  std::uint64_t bytes = 0;
  for (const SpreadReport::Node& node : report.nodes) bytes += node.bytes;
  bar.finish(bytes);
  return report;
}

Ended spread_object(const SpreadOrder& order, bool json) {
  GODWIT_TRY(const ObjectWord word, ObjectWord::parse(order.object));
  SpreadOptions options{.fan_out = order.fan_out};
  GODWIT_TRY(options.keep, time_of("--keep", order.keep));
  GODWIT_TRY(options.within, time_of("--within", order.within));
  GODWIT_TRY(const Fleet fleet, connect(order.connection));
  GODWIT_TRY(const Handle handle, word.find(fleet));
  GODWIT_TRY(const std::vector<std::uint64_t> nodes, nodes_of(fleet, order.to));
  GODWIT_TRY(const SpreadReport report, spread_with_bar(fleet, handle, nodes, options));
  json ? print_json(fleet, report) : print_text(fleet, report);
  const auto bad = std::ranges::find_if(
      report.nodes, [](const SpreadReport::Node& node) { return node.error.has_value(); });
  if (bad == report.nodes.end()) return {};
  Failed failed(
      {bad->error->code,
       fmt::format("{} of {} nodes have no copy; the first: {}: {}", report.failed(),
                   report.nodes.size(), process_name(fleet, bad->node), bad->error->message)});
  failed.in_output = true;
  return tl::unexpected(std::move(failed));
}

}  // namespace

void add_spread(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "spread",
             .usage = "HANDLE|NAME [--to NODE,...] [--keep TIME] [--fan-out N] [--json]",
             .summary = "Copy an object to many nodes, along a tree",
             .examples = "godwit spread model\ngodwit spread model --to n1,n2 --keep 10m",
             .details = "Functions of those nodes read the copy from then on. Copies are of one "
                        "version, and last\nfor the time given, whatever becomes of the object; "
                        "`godwit evict` ends one before\n(--json names them)."});
  const auto order = std::make_shared<SpreadOrder>();
  command.add_option("OBJECT", order->object, "Its handle, or its name")->required();
  command.add_option("--to", order->to, "Names, ids or indices of nodes, or all [all]");
  command.add_option("--keep", order->keep, "How long copies live [60s]");
  command.add_option("--within", order->within, "How long it may take [60s]");
  command.add_option("--fan-out", order->fan_out, "Copies that each node sends, 1 to 64 [4]");
  order->connection.add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, order] {
    invocation.command = [&invocation, order] { return spread_object(*order, invocation.json); };
  });
}

}  // namespace godwit::cli
