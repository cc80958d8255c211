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

constexpr std::string_view kLsDetails =
    "OVERDUE counts functions that still run past their deadlines (`godwit status` names them),\n"
    "OBJECTS those that the node is the home of (`godwit objects` lists them);\n"
    "? is a node that did not answer within a second, - one that was not asked: it is not up, or\n"
    "the fleet has more than 64 nodes.";

// Asking takes a link to each node, so a large fleet is not asked.
constexpr std::size_t kMaxAsked = 64;
constexpr std::chrono::milliseconds kAskLimit{1000};

struct Listed {
  NodeDescription node;
  bool asked = false;
  struct Counts {
    std::uint64_t overdue = 0;
    std::uint64_t objects = 0;
  };
  std::optional<Counts> counts;  // none: not asked, or no answer

  [[nodiscard]] std::string text(std::uint64_t Counts::* of) const {
    if (counts) return fmt::format("{}", (*counts).*of);
    return asked ? "?" : "-";
  }
  [[nodiscard]] std::string json(std::uint64_t Counts::* of) const {
    return counts ? fmt::format("{}", (*counts).*of) : "null";
  }
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
        one.counts = {(*status)["calls"]["overdue"].count(), (*status)["objects"]["count"].count()};
      }
    }
  }
  return all;
}

void print_text(const std::vector<Listed>& nodes) {
  Columns columns({"NAME", "ID", "STATE", "MACHINE", ">CORES", ">MEMORY", "JIT", ">OVERDUE",
                   ">OBJECTS", "CPU", "ADDRESSES"});
  for (const Listed& one : nodes) {
    const NodeDescription& node = one.node;
    const double gibibytes = static_cast<double>(node.memory_bytes) / (1U << 30U);
    columns.add({printable(node.name), to_hex(node.id), std::string(to_string(node.state)),
                 printable(node.machine), fmt::format("{}", node.cores),
                 fmt::format("{:.1f} GiB", gibibytes), node.has_jit ? "yes" : "no",
                 one.text(&Listed::Counts::overdue), one.text(&Listed::Counts::objects),
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
    out.key("objects").raw(one.json(&Listed::Counts::objects));
    out.key("overdue").raw(one.json(&Listed::Counts::overdue)).close('}');
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
                         .details = kLsDetails});
  const auto options = std::make_shared<ConnectOptions>();
  options->add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return ls(*options, invocation.json); };
  });
}

}  // namespace godwit::cli
