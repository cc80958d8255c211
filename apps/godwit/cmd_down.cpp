#include <fmt/format.h>

#include "base/fail.hpp"
#include "command.hpp"
#include "fleet_folder.hpp"
#include "trace/json.hpp"

namespace godwit::cli {
namespace {

// Longer than a node takes to leave functions that do not return.
constexpr std::chrono::milliseconds kNodeGrace{7000};

Ended down(const std::string& fleet, bool json) {
  // Looking first keeps a mistyped name from leaving an empty folder.
  GODWIT_CHECK(read_fleet(fleet));
  GODWIT_TRY(const FleetFolder folder, FleetFolder::open(fleet));
  GODWIT_TRY(const FleetState state, read_fleet(fleet));
  std::size_t running = 0;
  for (const FleetNode& node : state.nodes) running += is_running(node.process) ? 1 : 0;
  GODWIT_CHECK(end_processes(state.processes(), kNodeGrace));
  folder.remove();
  if (json) {
    trace::Json out;
    out.open('{').field("fleet", fleet).field("ended", running).close('}');
    fmt::print("{}\n", out.text());
  } else {
    fmt::print("{} node{} down\n", running, running == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

void add_down(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(root, {.name = "down",
                                         .usage = "[--fleet NAME] [--json]",
                                         .summary = "End a local fleet, and remove what it kept",
                                         .examples = "godwit down\ngodwit down --fleet net"});
  const auto fleet = std::make_shared<std::string>(kDefaultFleet);
  command.add_option("--fleet", *fleet, "Which fleet [default]")->type_name("NAME");
  add_json_flag(command, invocation);
  command.callback([&invocation, fleet] {
    invocation.command = [&invocation, fleet] { return down(*fleet, invocation.json); };
  });
}

}  // namespace godwit::cli
