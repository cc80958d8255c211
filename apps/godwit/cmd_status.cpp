#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "connect.hpp"
#include "duration.hpp"
#include "status_metrics.hpp"
#include "status_text.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

using trace::JsonValue;

constexpr std::string_view kStatusDetails =
    "Shows what a node is doing: its links and the calls on them, credits, the code it holds\n"
    "(and why some of it is pinned), and functions that are overdue. A function is overdue when\n"
    "it still runs past its call's deadline: it cannot be interrupted, so it keeps a worker\n"
    "until it returns, while its caller was told `deadline` long ago.\n"
    "Exits as unreachable if a node does not answer.";

struct StatusOptions {
  std::string node = "all";
  std::string timeout = "5s";
  bool prometheus = false;
  ConnectOptions connect;
};

// What one node answered: JSON that has been read, so that it can be passed on.
struct NodeStatus {
  std::string node;
  Result<std::string> text;
  JsonValue status;
};

NodeStatus read(std::string node, Result<std::string> answer) {
  NodeStatus one{std::move(node), std::move(answer), {}};
  if (!one.text) return one;
  auto parsed = JsonValue::parse(*one.text);
  if (parsed) {
    one.status = *std::move(parsed);
  } else {
    one.text = tl::unexpected(std::move(parsed).error());
  }
  return one;
}

void print_text(const std::vector<NodeStatus>& nodes) {
  bool first = true;
  for (const NodeStatus& one : nodes) {
    if (!one.text) continue;
    fmt::print("{}{}", first ? "" : "\n", status_text(one.status));
    first = false;
  }
  if (nodes.size() == 1) return;  // its error is the command's
  for (const NodeStatus& one : nodes) {
    if (!one.text) fmt::print(stderr, "{}: {}\n", one.node, one.text.error().message);
  }
}

void print_json(const std::vector<NodeStatus>& nodes) {
  trace::Json out;
  out.open('{').key("nodes").open('[');
  for (const NodeStatus& one : nodes) {
    out.open('{').field("node", one.node);
    if (one.text) {
      out.key("status").raw(*one.text);
    } else {
      out.key("error").open('{').field("code", to_string(one.text.error().code));
      out.field("message", one.text.error().message).close('}');
    }
    out.close('}');
  }
  fmt::print("{}\n", out.close(']').close('}').text());
}

void print_metrics(const std::vector<NodeStatus>& nodes) {
  std::vector<AskedNode> asked;
  for (const NodeStatus& one : nodes) {
    asked.push_back({one.node, one.text ? &one.status : nullptr});
  }
  fmt::print("{}", status_metrics(asked));
}

Ended end_of(const std::vector<NodeStatus>& nodes) {
  std::size_t silent = 0;
  const NodeStatus* first = nullptr;
  for (const NodeStatus& one : nodes) {
    if (one.text) continue;
    if (silent++ == 0) first = &one;
  }
  if (first == nullptr) return {};
  const Error& why = first->text.error();
  Failed failed(Exit::unreachable,
                {why.code, nodes.size() == 1
                               ? fmt::format("{}: {}", first->node, why.message)
                               : fmt::format("{} of {} nodes do not tell their status; the first, "
                                             "{}: {}",
                                             silent, nodes.size(), first->node, why.message)});
  failed.in_output = true;
  return tl::unexpected(std::move(failed));
}

Ended status(const StatusOptions& options, bool json) {
  const auto timeout = parse_duration(options.timeout);
  if (!timeout) {
    return tl::unexpected(Failed(
        Exit::usage, {ErrorCode::invalid_argument, "--timeout: " + timeout.error().message}));
  }
  GODWIT_TRY(const Fleet fleet, connect(options.connect));
  GODWIT_TRY(const std::vector<NodeHandle> nodes, choose_nodes(fleet, options.node));
  std::vector<Result<std::string>> answers = fleet.status(nodes, *timeout);
  std::vector<NodeStatus> read_ones;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    read_ones.push_back(read(nodes[i].name(), std::move(answers[i])));
  }
  if (options.prometheus) {
    print_metrics(read_ones);
  } else {
    json ? print_json(read_ones) : print_text(read_ones);
  }
  return end_of(read_ones);
}

}  // namespace

void add_status(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "status",
             .usage = "[NODE|all|INDEX] [--timeout TIME] [--json | --prometheus]",
             .summary = "Look into nodes: links, calls, code, functions that are overdue",
             .examples = "godwit status\n"
                         "godwit status n2\n"
                         "godwit status all --json --connect tcp:10.0.0.7:7400\n"
                         "godwit status --prometheus > metrics/godwit.prom",
             .details = kStatusDetails});
  const auto options = std::make_shared<StatusOptions>();
  command.add_option("NODE", options->node, "A node's name, id or index, or all [all]");
  command.add_option("--timeout", options->timeout, "How long to wait for answers [5s]")
      ->type_name("TIME");
  options->connect.add_to(command);
  add_json_flag(command, invocation);
  command
      .add_flag("--prometheus", options->prometheus,
                "Say the numbers as Prometheus reads them, labelled by node")
      ->excludes("--json");
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return status(*options, invocation.json); };
  });
}

}  // namespace godwit::cli
