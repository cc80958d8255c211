#include <fmt/format.h>

#include <optional>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "command_line/columns.hpp"
#include "connect.hpp"
#include "trace/json.hpp"
#include "trace/json_value.hpp"

namespace godwit::cli {
namespace {

constexpr std::string_view kDetails =
    "OVERDUE counts functions that still run past their deadlines (`godwit status` names them);\n"
    "? is a node that did not answer within a second, - one that was not asked: it is not up, or\n"
    "the fleet has more than 64 nodes.";

// Asking takes a link to each node, so a large fleet is not asked.
constexpr std::size_t kMaxAsked = 64;
constexpr std::chrono::milliseconds kAskLimit{1000};

struct Listed {
  NodeDescription node;
  bool asked = false;
  std::optional<std::uint64_t> overdue;  // none: not asked, or no answer
};

std::vector<Listed> look(const Fleet& fleet) {
  std::vector<Listed> all;
  for (NodeDescription& node : fleet.describe()) all.push_back({std::move(node), false, {}});
  const std::vector<NodeHandle> up = fleet.nodes();
  if (up.size() > kMaxAsked) return all;
  const auto answers = fleet.status(up, kAskLimit);
  for (Listed& one : all) {
    for (std::size_t i = 0; i < up.size(); ++i) {
      if (up[i].id() != one.node.id) continue;
      one.asked = true;
      if (!answers[i]) continue;
      if (const auto status = trace::JsonValue::parse(*answers[i])) {
        one.overdue = (*status)["calls"]["overdue"].count();
      }
    }
  }
  return all;
}

void print_text(const std::vector<Listed>& nodes) {
  Columns columns({"NAME", "ID", "STATE", "MACHINE", ">CORES", ">MEMORY", "JIT", ">OVERDUE", "CPU",
                   "ADDRESSES"});
  for (const Listed& one : nodes) {
    const NodeDescription& node = one.node;
    const double gibibytes = static_cast<double>(node.memory_bytes) / (1U << 30U);
    columns.add({printable(node.name), to_hex(node.id), std::string(to_string(node.state)),
                 printable(node.machine), fmt::format("{}", node.cores),
                 fmt::format("{:.1f} GiB", gibibytes), node.has_jit ? "yes" : "no",
                 one.overdue ? fmt::format("{}", *one.overdue)
                 : one.asked ? "?"
                             : "-",
                 printable(node.cpu), fmt::format("{}", fmt::join(node.addresses, " "))});
  }
  fmt::print("{}", columns.text());
}

void print_json(const std::vector<Listed>& nodes) {
  trace::Json out;
  out.open('{').key("nodes").open('[');
  for (const Listed& one : nodes) {
    const NodeDescription& node = one.node;
    out.open('{').field("name", node.name).field("id", to_hex(node.id));
    out.field("state", to_string(node.state)).field("epoch", node.epoch);
    out.field("addresses", node.addresses).field("machine", node.machine);
    out.field("cpu", node.cpu).field("cores", node.cores);
    out.field("memory_bytes", node.memory_bytes).field("has_jit", node.has_jit);
    out.key("overdue").raw(one.overdue ? fmt::format("{}", *one.overdue) : "null").close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

Ended ls(const ConnectOptions& options, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(options));
  const auto nodes = look(fleet);
  json ? print_json(nodes) : print_text(nodes);
  return {};
}

}  // namespace

void add_ls(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "ls",
                         .usage = "[--fleet NAME | --connect ADDRESS] [--json]",
                         .summary = "List the nodes of a fleet, lost ones included",
                         .examples = "godwit ls\ngodwit ls --connect tcp:10.0.0.7:7400 --json",
                         .details = kDetails});
  const auto options = std::make_shared<ConnectOptions>();
  options->add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return ls(*options, invocation.json); };
  });
}

}  // namespace godwit::cli
