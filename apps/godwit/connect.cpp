#include "connect.hpp"

#include <fmt/format.h>

#include <thread>

#include "base/fail.hpp"
#include "fleet_folder.hpp"

namespace godwit::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kSettleLimit{2000};

// Any node that runs will do; they all know the fleet.
tl::expected<Fleet, Failed> join_local(const ConnectOptions& options) {
  GODWIT_TRY(const FleetState state, read_fleet(options.fleet));
  ClientOptions client;
  client.key_file = options.key_file.empty() ? state.key_file : options.key_file;
  std::size_t running = 0;
  for (const FleetNode& node : state.nodes) running += is_running(node.process) ? 1 : 0;
  Error last{ErrorCode::unreachable,
             fmt::format("the nodes of the local fleet '{}' have all ended; `godwit down`, then "
                         "`godwit up` starts it again",
                         options.fleet)};
  for (const FleetNode& node : state.nodes) {
    if (!is_running(node.process) || node.addresses.empty()) continue;
    auto fleet = Fleet::join(node.addresses.back(), client);
    if (fleet) {
      // Joining brings the table of one node, which may have heard of the others a moment later.
      (void)wait_for_nodes(*fleet, running, kSettleLimit);
      return *std::move(fleet);
    }
    last = std::move(fleet).error();
  }
  return tl::unexpected(Failed(std::move(last)));
}

}  // namespace

void ConnectOptions::add_to(CLI::App& command) {
  const char* const group = "Which fleet";
  command.add_option("--fleet", fleet, "A fleet that `godwit up --fleet NAME` started [default]")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--connect", address, "Any fleet, by one of its nodes: shm:PATH or tcp:HOST:PORT")
      ->type_name("ADDRESS")
      ->group(group);
  command.add_option("--key-file", key_file, "The fleet's key [the one it was started with]")
      ->type_name("FILE")
      ->group(group);
}

tl::expected<Fleet, Failed> connect(const ConnectOptions& options) {
  if (options.address.empty()) return join_local(options);
  ClientOptions client;
  client.key_file = options.key_file;
  auto fleet = Fleet::join(options.address, client);
  if (fleet) return *std::move(fleet);
  return tl::unexpected(Failed(std::move(fleet).error()));
}

Status wait_for_nodes(const Fleet& fleet, std::size_t count, milliseconds limit) {
  const auto until = steady_clock::now() + limit;
  std::size_t known = fleet.nodes().size();
  while (known < count) {
    if (steady_clock::now() >= until) {
      return fail(ErrorCode::unreachable, "only {} of {} nodes have found each other", known,
                  count);
    }
    std::this_thread::sleep_for(milliseconds(2));
    known = fleet.nodes().size();
  }
  return {};
}

}  // namespace godwit::cli
