#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "connect.hpp"
#include "json.hpp"

namespace godwit::cli {
namespace {

void print_text(const std::vector<NodeDescription>& nodes) {
  std::size_t width = 4;
  for (const NodeDescription& node : nodes) width = std::max(width, node.name.size());
  fmt::print("{:<{}}  {:<16}  {:<7}  {:<8}  {:>5}  {:>8}  {:<4}  {}\n", "NAME", width, "ID",
             "STATE", "MACHINE", "CORES", "MEMORY", "JIT", "ADDRESSES");
  for (const NodeDescription& node : nodes) {
    const double gibibytes = static_cast<double>(node.memory_bytes) / (1U << 30U);
    fmt::print("{:<{}}  {:<16}  {:<7}  {:<8}  {:>5}  {:>4.1f} GiB  {:<4}  {}\n", node.name, width,
               to_hex(node.id), to_string(node.state), node.machine, node.cores, gibibytes,
               node.has_jit ? "yes" : "no", fmt::join(node.addresses, " "));
  }
}

void print_json(const std::vector<NodeDescription>& nodes) {
  Json out;
  out.open('{').key("nodes").open('[');
  for (const NodeDescription& node : nodes) {
    out.open('{').field("name", node.name).field("id", to_hex(node.id));
    out.field("state", to_string(node.state)).field("epoch", node.epoch);
    out.field("addresses", node.addresses).field("machine", node.machine);
    out.field("cpu", node.cpu).field("cores", node.cores);
    out.field("memory_bytes", node.memory_bytes).field("has_jit", node.has_jit).close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

Ended ls(const ConnectOptions& options, bool json) {
  GODWIT_TRY(const Fleet fleet, connect(options));
  const auto nodes = fleet.describe();
  json ? print_json(nodes) : print_text(nodes);
  return {};
}

}  // namespace

void add_ls(CLI::App& root, Invocation& invocation) {
  CLI::App& command =
      add_command(root, {.name = "ls",
                         .usage = "[--fleet NAME | --connect ADDRESS] [--json]",
                         .summary = "List the nodes of a fleet, lost ones included",
                         .examples = "godwit ls\ngodwit ls --connect tcp:10.0.0.7:7400 --json"});
  const auto options = std::make_shared<ConnectOptions>();
  options->add_to(command);
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.command = [&invocation, options] { return ls(*options, invocation.json); };
  });
}

}  // namespace godwit::cli
