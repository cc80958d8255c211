#include <fmt/format.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "command.hpp"
#include "connect.hpp"
#include "fleet_folder.hpp"
#include "node/places.hpp"
#include "node/starting_node.hpp"
#include "process.hpp"
#include "trace/json.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxNodes = 256;
constexpr milliseconds kStartLimit{20'000};
constexpr milliseconds kMeetLimit{20'000};
constexpr milliseconds kFailedStartGrace{3000};

struct UpOptions {
  std::size_t count = 0;
  std::string prefix = "n";
  std::string fleet = kDefaultFleet;
  std::string key_file;
  bool tcp = false;
};

// A fleet while it is being started: unless kept, everything started so far ends with it.
class Starting {
 public:
  Starting(const UpOptions& options, const std::vector<std::string>& more, FleetFolder folder)
      : options_(options), more_(more), folder_(std::move(folder)) {
    state_.key_file = options.key_file;
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting() {
    if (kept_) return;
    (void)end_processes(state_.processes(), kFailedStartGrace);
    for (const FleetNode& node : state_.nodes) ::waitpid(node.process.pid, nullptr, WNOHANG);
    folder_.remove();
  }

  // The first node alone, since the others need its address; then those together.
  Status run() {
    GODWIT_CHECK(start(0));
    GODWIT_CHECK(await(0));
    for (std::size_t i = 1; i < options_.count; ++i) GODWIT_CHECK(start(i));
    for (std::size_t i = 1; i < options_.count; ++i) GODWIT_CHECK(await(i));
    return {};
  }
  void keep() noexcept { kept_ = true; }
  [[nodiscard]] const FleetState& state() const noexcept { return state_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }

 private:
  std::vector<std::string> arguments_for(const std::string& name) const {
    std::vector<std::string> arguments{
        "--name=" + name,
        "--id=" + to_hex(random_node_id().value),
        "--runtime-dir=" + folder_.path().string(),
        "--log-file=" + folder_.log_of(name).string(),
    };
    // The best address comes first: with --tcp the nodes use it among each other.
    if (options_.tcp) arguments.emplace_back("--listen=tcp:127.0.0.1:0");
    arguments.push_back("--listen=" + node::node_address(folder_.path(), name));
    if (!options_.key_file.empty()) arguments.push_back("--key-file=" + options_.key_file);
    if (!state_.nodes.empty()) {
      arguments.push_back("--join=" + state_.nodes.front().addresses.front());
    }
    arguments.insert(arguments.end(), more_.begin(), more_.end());
    return arguments;
  }

  // The state is written before anything can go wrong, so that `down` finds what was started even
  // if this process is killed.
  Status start(std::size_t index) {
    const std::string name = options_.prefix + std::to_string(index);
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return fail(ErrorCode::io, "cannot find this executable: {}", error.message());
    GODWIT_TRY(node::StartingNode node, node::StartingNode::start({.executable = self.string(),
                                                                   .arguments = arguments_for(name),
                                                                   .log = folder_.log_of(name),
                                                                   .detached = true}));
    // A child that is gone already has no identity left; then waiting for it tells why.
    const ProcessId process = identify(node.pid()).value_or(ProcessId{.pid = node.pid()});
    state_.nodes.push_back({.name = name, .process = process, .addresses = {}});
    starting_.push_back(std::move(node));
    return folder_.write(state_);
  }
  Status await(std::size_t index) {
    auto addresses = starting_[index].wait_until_ready(kStartLimit);
    if (!addresses) {
      return fail(addresses.error().code, "node {} does not start: {}", state_.nodes[index].name,
                  addresses.error().message);
    }
    state_.nodes[index].addresses = *std::move(addresses);
    return folder_.write(state_);
  }

  const UpOptions& options_;
  const std::vector<std::string>& more_;
  FleetFolder folder_;
  FleetState state_;
  std::vector<node::StartingNode> starting_;
  bool kept_ = false;
};

void print(const UpOptions& options, const Starting& fleet, bool json) {
  if (!json) {
    fmt::print("{} node{} up:", options.count, options.count == 1 ? "" : "s");
    for (const FleetNode& node : fleet.state().nodes) fmt::print(" {}", node.name);
    fmt::print("  (logs in {}; end with `godwit down{}`)\n", fleet.path().string(),
               options.fleet == kDefaultFleet ? "" : " --fleet " + options.fleet);
    return;
  }
  trace::Json out;
  out.open('{').field("fleet", options.fleet).field("directory", fleet.path().string());
  out.key("nodes").open('[');
  for (const FleetNode& node : fleet.state().nodes) {
    out.open('{').field("name", node.name).field("pid", node.process.pid);
    out.field("addresses", node.addresses).close('}');
  }
  out.close(']').close('}');
  fmt::print("{}\n", out.text());
}

Ended up(UpOptions options, const Invocation& invocation) {
  if (!options.key_file.empty()) {
    options.key_file = std::filesystem::absolute(options.key_file).string();
    GODWIT_CHECK(trust::FleetKey::load(options.key_file));
  }
  GODWIT_TRY(FleetFolder folder, FleetFolder::open(options.fleet));
  const auto old = read_fleet(options.fleet);
  if (old && old->any_running()) {
    return fail(ErrorCode::already_exists,
                "the fleet '{}' is up with {} nodes; end it with `godwit down` first, or start "
                "another one with --fleet NAME",
                options.fleet, old->nodes.size());
  }
  // Nothing there is as good as ended; a list that cannot be read may name nodes that run.
  if (!old && old.error().exit != Exit::unreachable) return tl::unexpected(old.error());
  folder.clear();
  Starting fleet(options, invocation.words, std::move(folder));
  GODWIT_CHECK(fleet.run());
  ConnectOptions client;
  client.fleet = options.fleet;
  GODWIT_TRY(const Fleet joined, connect(client));
  GODWIT_CHECK(wait_for_nodes(joined, options.count, kMeetLimit));
  fleet.keep();
  print(options, fleet, invocation.json);
  return {};
}

}  // namespace

void add_up(CLI::App& root, Invocation& invocation) {
  CLI::App& command = add_command(
      root, {.name = "up",
             .usage = "N [OPTIONS] [-- SETTINGS for each node]",
             .summary = "Start a local fleet of N nodes, which runs until `godwit down`",
             .examples = "godwit up 4\n"
                         "godwit up 2 --tcp --fleet net\n"
                         "godwit up 4 -- --spin-us 0 --jit preload"});
  const auto options = std::make_shared<UpOptions>();
  command.add_option("N", options->count, "How many nodes")
      ->required()
      ->check(CLI::Range(std::size_t{1}, kMaxNodes));
  command
      .add_option("--name-prefix", options->prefix, "Nodes are called n0, n1, ...: this is the n")
      ->type_name("TEXT");
  command.add_option("--fleet", options->fleet, "Name of the fleet, to run several [default]")
      ->type_name("NAME");
  command.add_option("--key-file", options->key_file, "Use this fleet key (`godwit key new`)")
      ->type_name("FILE");
  command.add_flag("--tcp", options->tcp,
                   "Nodes talk to each other over TCP on loopback, not shared memory");
  add_json_flag(command, invocation);
  command.callback([&invocation, options] {
    invocation.takes_words = true;
    invocation.command = [&invocation, options] { return up(*options, invocation); };
  });
}

}  // namespace godwit::cli
