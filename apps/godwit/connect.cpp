#include "connect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/fail.hpp"
#include "fleet_folder.hpp"
#include "node/settings.hpp"
#include "ref/channel/channel_set.hpp"

namespace godwit::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kSettleLimit{2000};

// Any node that runs will do; they all know the fleet.
tl::expected<Fleet, Failed> join_local(const ConnectOptions& options, ClientOptions client) {
  GODWIT_TRY(const FleetState state, read_fleet(options.fleet));
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

// Those that a node would have that was started here: $GODWIT_CHANNEL, or the file that
// $GODWIT_CONFIG names.
Status add_channels(ClientOptions& client) {
  GODWIT_TRY(const node::Configuration configuration, node::Configuration::load({}));
  for (const std::string& path : configuration.settings().channel_plugins) {
    GODWIT_CHECK(ref::load_channel_plugin(path));
  }
  for (const std::string& text : configuration.settings().channel) {
    GODWIT_TRY(ChannelOptions channel, ChannelOptions::parse(text));
    client.channels.push_back(std::move(channel));
  }
  return {};
}

}  // namespace

void ConnectOptions::add_to(CLI::App& command) {
  const char* const group = "Which fleet";
  command.add_option("--fleet", fleet, "A fleet that `godwit up --fleet NAME` started [default]")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--connect", address,
                  "Any fleet, by one of its nodes: shm:PATH, tcp:HOST:PORT or, through a relay, "
                  "relay:HOST:PORT[/ID]")
      ->type_name("ADDRESS")
      ->group(group);
  command.add_option("--key-file", key_file, "The fleet's key [the one it was started with]")
      ->type_name("FILE")
      ->group(group);
}

tl::expected<Fleet, Failed> connect(const ConnectOptions& options) {
  ClientOptions client;
  if (const Status added = add_channels(client); !added) {
    return tl::unexpected(Failed(added.error()));
  }
  if (options.address.empty()) return join_local(options, std::move(client));
  client.key_file = options.key_file;
  auto fleet = Fleet::join(options.address, client);
  if (fleet) return *std::move(fleet);
  return tl::unexpected(Failed(std::move(fleet).error()));
}

tl::expected<std::vector<NodeHandle>, Failed> choose_nodes(const Fleet& fleet,
                                                           const std::string& on) {
  const std::vector<NodeHandle> nodes = fleet.nodes();
  std::vector<std::string> names;
  for (const NodeHandle& node : nodes) names.push_back(node.name());
  if (on == "all" && !nodes.empty()) return nodes;
  if (const auto named = std::find(names.begin(), names.end(), on); named != names.end()) {
    return std::vector{nodes[static_cast<std::size_t>(named - names.begin())]};
  }
  if (!on.empty() && on.size() <= 6 && on.find_first_not_of("0123456789") == std::string::npos) {
    const std::size_t index = std::stoul(on);
    if (index < nodes.size()) return std::vector{nodes[index]};
  } else if (auto found = fleet.find(on)) {
    return std::vector{*std::move(found)};
  }
  constexpr std::size_t kNamed = 16;
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return fail(ErrorCode::unreachable, "the fleet has no node '{}'; there are {}{}", on,
              fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
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
