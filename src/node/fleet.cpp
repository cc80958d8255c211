// The public Fleet: a client runtime, and for a local fleet the nodes too.
#include "godwit/fleet.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "godwit/bundle.hpp"
#include "node/local_nodes.hpp"
#include "node/places.hpp"
#include "node/region_host.hpp"
#include "node/runtime.hpp"

namespace godwit {
namespace {

NodeState public_state(fleet::NodeState state) {
  return static_cast<NodeState>(state);
}
static_assert(static_cast<int>(fleet::NodeState::up) == static_cast<int>(NodeState::up) &&
              static_cast<int>(fleet::NodeState::leaving) == static_cast<int>(NodeState::leaving) &&
              static_cast<int>(fleet::NodeState::lost) == static_cast<int>(NodeState::lost));

bool is_up(const fleet::NodeRecord& record) {
  return record.state == fleet::NodeState::up && record.role == fleet::NodeRole::node;
}

std::size_t count_up(const fleet::NodeList& nodes) {
  return static_cast<std::size_t>(std::count_if(nodes->begin(), nodes->end(), is_up));
}

}  // namespace

std::string_view to_string(NodeState state) noexcept {
  return fleet::to_string(static_cast<fleet::NodeState>(state));
}

std::string NodeHandle::name() const {
  return caller_->options().name_of(NodeId{id_});
}

ref::ObjectAccess& NodeHandle::objects() const noexcept {
  return *caller_->objects();
}

std::chrono::nanoseconds NodeHandle::default_deadline() const {
  return caller_->options().default_deadline;
}

struct Fleet::State {
  trace::Log log = trace::Log::silent();
  std::unique_ptr<node::LocalNodes>
      local;  // outlives the runtime: links are closed before they end
  std::unique_ptr<node::Runtime> runtime;
  std::unique_ptr<node::RegionHost> regions;

  static Result<std::unique_ptr<State>> connect(std::vector<std::string> seeds,
                                                const ClientOptions& client) {
    auto state = std::make_unique<State>();
    node::Runtime::Options options;
    options.id = random_node_id();
    options.epoch = Epoch{1};
    options.name = client.name;
    options.seeds = std::move(seeds);
    if (!client.key_file.empty()) {
      GODWIT_TRY(options.key, trust::FleetKey::load(client.key_file));
    }
    options.reactor.name = client.name;
    options.reactor.spin_us = client.spin_us;
    options.reactor.offload_threads = 1;
    options.default_deadline = client.default_deadline;
    options.pool.width = 2;
    GODWIT_TRY(options.channels, ref::ChannelSet::open(client.channels));
    GODWIT_TRY(state->runtime, node::Runtime::create(std::move(options), state->log));
    state->regions = std::make_unique<node::RegionHost>(*state->runtime);
    GODWIT_CHECK(state->runtime->start());
    GODWIT_CHECK(state->runtime->wait_until_joined(client.connect_timeout));
    return state;
  }

  // Which of the local nodes it is.
  [[nodiscard]] Result<std::size_t> local_index(const NodeHandle& node, const char* to_be) const {
    if (local == nullptr) {
      return fail(ErrorCode::unsupported, "only nodes of a local fleet can be {} from here", to_be);
    }
    const std::size_t index = local->index_of(node.name());
    if (index == local->size()) {
      return fail(ErrorCode::not_found, "node {} is not of this local fleet", node.name());
    }
    return index;
  }
};

Fleet::Fleet(std::unique_ptr<State> state) : state_(std::move(state)) {}
Fleet::Fleet(Fleet&&) noexcept = default;
Fleet& Fleet::operator=(Fleet&&) noexcept = default;
Fleet::~Fleet() = default;

Result<Fleet> Fleet::local(std::size_t count, LocalOptions options) {
  if (count == 0) return fail(ErrorCode::invalid_argument, "a local fleet has at least one node");
  node::LocalNodes::Options nodes;
  nodes.executable = options.executable;
  nodes.tcp = options.transport == LocalTransport::tcp;
  nodes.node_arguments = std::move(options.node_arguments);
  if (!options.client.key_file.empty()) {
    nodes.node_arguments.push_back("--key-file=" + options.client.key_file);
  }
  GODWIT_TRY(auto local, node::LocalNodes::start(count, std::move(nodes)));
  GODWIT_TRY(auto state, State::connect(local->addresses(), options.client));
  state->local = std::move(local);
  const bool all = state->runtime->wait_for_nodes(
      [count](const fleet::NodeList& known) { return count_up(known) >= count; },
      options.client.connect_timeout);
  if (!all) {
    return fail(ErrorCode::unreachable, "only {} of {} nodes have found each other",
                count_up(state->runtime->nodes()), count);
  }
  return Fleet(std::move(state));
}

Result<Fleet> Fleet::join(std::string_view address, ClientOptions options) {
  std::vector<std::string> seeds;
  if (address == "local") {
    GODWIT_TRY(seeds, node::addresses_in(node::fleet_directory()));
  } else {
    seeds.emplace_back(address);
  }
  GODWIT_TRY(auto state, State::connect(std::move(seeds), options));
  return Fleet(std::move(state));
}

std::vector<NodeHandle> Fleet::nodes() const {
  std::vector<NodeHandle> handles;
  const fleet::NodeList known = state_->runtime->nodes();
  for (const fleet::NodeRecord& record : *known) {
    if (is_up(record)) handles.emplace_back(state_->runtime->caller(), record.id.value);
  }
  return handles;
}

NodeHandle Fleet::node(std::size_t index) const {
  return nodes().at(index);
}

Result<NodeHandle> Fleet::find(std::string_view name) const {
  Result<fleet::NodeRecord> found;
  state_->runtime->run_as_owner([&] { found = state_->runtime->directory().find(name); });
  if (!found) return tl::unexpected(std::move(found).error());
  return NodeHandle(state_->runtime->caller(), found->id.value);
}

std::vector<NodeDescription> Fleet::describe() const {
  std::vector<NodeDescription> all;
  const fleet::NodeList known = state_->runtime->nodes();
  for (const fleet::NodeRecord& record : *known) {
    if (record.role != fleet::NodeRole::node) continue;
    NodeDescription node;
    node.id = record.id.value;
    node.epoch = record.epoch.value;
    node.name = record.name;
    node.addresses = record.addresses;
    node.machine = record.target.arch;
    node.cpu = record.target.cpu;
    node.has_jit = record.target.has_jit;
    node.cores = record.capacities.cores;
    node.memory_bytes = record.capacities.memory_bytes;
    node.state = public_state(record.state);
    all.push_back(std::move(node));
  }
  return all;
}

std::vector<Result<std::string>> Fleet::status(const std::vector<NodeHandle>& nodes,
                                               std::chrono::nanoseconds at_most) const {
  std::vector<NodeId> ids;
  ids.reserve(nodes.size());
  for (const NodeHandle& node : nodes) ids.push_back(NodeId{node.id()});
  return state_->runtime->status_of(ids, at_most);
}

Result<std::string> Fleet::status(const NodeHandle& node, std::chrono::nanoseconds at_most) const {
  return std::move(status(std::vector{node}, at_most).front());
}

std::array<std::uint8_t, 32> Fleet::offer(const Bundle& bundle) {
  const code::Bundle& code = bundle.code();
  state_->runtime->engine().functions().add(code);
  std::array<std::uint8_t, 32> id{};
  static_assert(sizeof id == ContentId::kSize);
  std::memcpy(id.data(), code.id().digest.data(), id.size());
  return id;
}

Status Fleet::put_name(std::string_view key, std::string_view value) {
  Result<fleet::Version> written;
  state_->runtime->run_as_owner([&] {
    state_->runtime->directory().put_name(
        key, bytes_of(value),
        [&](Result<fleet::Version> version) { written = std::move(version); });
  });
  if (!written) return tl::unexpected(std::move(written).error());
  return {};
}

Result<std::string> Fleet::find_name(std::string_view key) const {
  std::optional<fleet::NameEntry> entry;
  state_->runtime->run_as_owner([&] { entry = state_->runtime->directory().find_name(key); });
  if (!entry || entry->erased) {
    return fail(ErrorCode::not_found, "the fleet has no name '{}'", key);
  }
  return std::string(text_of(entry->value));
}

Status Fleet::erase_name(std::string_view key) {
  Result<fleet::Version> written;
  state_->runtime->run_as_owner([&] {
    state_->runtime->directory().erase_name(
        key, [&](Result<fleet::Version> version) { written = std::move(version); });
  });
  if (!written && written.error().code != ErrorCode::not_found) {
    return tl::unexpected(std::move(written).error());
  }
  return {};
}

ops::RegionHost& Fleet::regions() const {
  return *state_->regions;
}

ref::ObjectAccess& Fleet::objects() const {
  return state_->runtime->objects();
}

Status Fleet::kill(const NodeHandle& node) {
  GODWIT_TRY(const std::size_t index, state_->local_index(node, "killed"));
  return state_->local->kill(index);
}

Status Fleet::restart(const NodeHandle& node) {
  GODWIT_TRY(const std::size_t index, state_->local_index(node, "restarted"));
  return state_->local->restart(index);
}

}  // namespace godwit
