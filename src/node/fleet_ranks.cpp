// The program's side of an exchange over a fleet.
#include "godwit/detail/forward/fleet_ranks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "call/caller.hpp"
#include "fabric/address.hpp"
#include "forward/fleet/rank_host.hpp"
#include "forward/fleet/watched_group.hpp"
#include "forward/process/process_member.hpp"
#include "godwit/group.hpp"

namespace godwit::detail {
namespace {

using Clock = std::chrono::steady_clock;
using fabric::Address;

// Above those that systems give to outgoing connections.
constexpr std::uint16_t kFirstPort = 61000;
constexpr std::uint16_t kPorts = 4500;
// Calls may take so much longer: the program's rank sees to the deadline, and tells the others.
constexpr std::chrono::seconds kGrace{2};

// One at which other hosts can reach it, if there is one.
const Address* find_address(const std::vector<Address>& all, Address::Scheme scheme) {
  const Address* found = nullptr;
  for (const Address& one : all) {
    if (one.scheme == scheme && (found == nullptr || found->is_loopback())) found = &one;
  }
  return found;
}

}  // namespace

struct FleetRanks::State {
  std::vector<NodeHandle> nodes;
  forward::RankHost* host = nullptr;
  forward::RankPlan plan;  // of the program's own rank
  RankOrder order;         // of any
  Clock::time_point deadline;
  std::optional<MeetingPlace> folder;
  Ended ended;  // while ranks meet
  std::optional<Group> group;
  std::unique_ptr<Port> port;
  ExchangeStatus last;  // of the port that is gone
  bool ran = false;

  [[nodiscard]] std::string name_of(std::size_t rank) const { return nodes[rank].name(); }
  [[nodiscard]] Status choose_place();
  [[nodiscard]] std::optional<Error> interrupted() const;
};

// Rank 0 listens, and that is the first node: a program may be where nobody can reach it.
Status FleetRanks::State::choose_place() {
  bool by_tcp = true;
  bool by_shm = true;
  std::optional<Address> first;
  for (const NodeHandle& node : nodes) {
    const std::vector<std::string> texts = host->addresses_of(NodeId{node.id()});
    std::vector<Address> known;
    for (const std::string& text : texts) {
      if (auto address = Address::parse(text)) known.push_back(*std::move(address));
    }
    const Address* const tcp = find_address(known, Address::Scheme::tcp);
    by_tcp = by_tcp && tcp != nullptr;
    by_shm = by_shm && find_address(known, Address::Scheme::shm) != nullptr;
    if (!by_tcp && !by_shm) {
      return fail(ErrorCode::unsupported,
                  "there is no place where node {} (at {}) could meet the other ranks: let all of "
                  "them listen at tcp:HOST:PORT, or all at shm:PATH on this host",
                  node.name(), fmt::join(texts, ", "));
    }
    if (!first && tcp != nullptr) first = *tcp;
  }
  if (!by_tcp) {
    auto made = MeetingPlace::create(MeetingPlace::For::one_host);
    if (!made) return tl::unexpected(std::move(made).error());
    folder.emplace(*std::move(made));
    plan.meet.address = folder->address();
    return {};
  }
  first->port = static_cast<std::uint16_t>(kFirstPort + random_node_id().value % kPorts);
  plan.meet.address = first->to_string();
  return {};
}

std::optional<Error> FleetRanks::State::interrupted() const {
  if (Clock::now() >= deadline) {
    return Error{ErrorCode::deadline,
                 "the exchange did not end within FleetExchangeOptions::deadline"};
  }
  return ended ? ended() : std::nullopt;
}

FleetRanks::FleetRanks(std::unique_ptr<State> state) : state_(std::move(state)) {}

FleetRanks::~FleetRanks() {
  leave();
}

Result<std::unique_ptr<FleetRanks>> FleetRanks::prepare(std::span<const NodeHandle> nodes,
                                                        const FleetExchangeOptions& options) {
  if (nodes.empty()) {
    return fail(ErrorCode::invalid_argument, "an exchange over a fleet needs at least one node");
  }
  if (options.deadline.count() <= 0) {
    return fail(ErrorCode::invalid_argument,
                "FleetExchangeOptions::deadline must be more than nothing");
  }
  auto state = std::make_unique<State>();
  state->nodes.assign(nodes.begin(), nodes.end());
  state->host = nodes.front().caller().ranks();
  state->deadline = Clock::now() + options.deadline;
  forward::RankPlan& plan = state->plan;
  plan.exchange = {random_node_id().value, random_node_id().value};
  plan.options = options.exchange;
  plan.pace = options.pace;
  const Rank own = static_cast<Rank>(nodes.size());
  plan.meet = {.rank = own, .ranks = own + 1, .way = options.way};
  plan.meet.patience = options.exchange.patience;
  GODWIT_CHECK(state->choose_place());
  GODWIT_TRY(state->order, forward::write_order(plan));
  plan.meet.key = state->host->key_of(plan.exchange);
  plan.options.workers = 1;  // the program's handler is one thread's
  return std::unique_ptr<FleetRanks>(new FleetRanks(std::move(state)));
}

RankOrder FleetRanks::order(Rank rank) const {
  RankOrder order = state_->order;
  order.rank = rank;
  return order;
}

std::chrono::nanoseconds FleetRanks::time_left() const {
  return std::max(state_->deadline - Clock::now(), Clock::duration::zero()) + kGrace;
}

Status FleetRanks::meet(const ItemType& type, const Ended& ended) {
  State& state = *state_;
  state.ended = ended;
  const auto interrupted = [&state] { return state.interrupted(); };
  const Status met = [&]() -> Status {
    GODWIT_TRY(auto member, forward::ProcessMember::meet(state.plan.meet, interrupted));
    state.group.emplace(forward::watched(std::move(member), interrupted));
    GODWIT_TRY(state.port, Port::create(*state.group, {&type, 1}, state.plan.options));
    return {};
  }();
  state.ended = nullptr;
  state.folder.reset();
  if (!met) leave();
  return met;
}

Port& FleetRanks::port() const noexcept {
  return *state_->port;
}

ExchangeStatus FleetRanks::status() const {
  return state_->port != nullptr ? state_->port->status() : state_->last;
}

Result<RunReport> FleetRanks::run(const Port::Process& process) {
  State& state = *state_;
  if (std::exchange(state.ran, true) || state.port == nullptr) {
    return fail(ErrorCode::invalid_argument,
                "run() was called before: its ranks have ended, open others");
  }
  return state.port->run(process, {.pace = state.plan.pace});
}

void FleetRanks::leave() {
  if (state_->port != nullptr) state_->last = state_->port->status();
  state_->port.reset();
  state_->group.reset();
}

Error FleetRanks::error_of(std::size_t rank, const Failure& failure) const {
  const ErrorCode code = failure.ending == Ending::node_lost ? ErrorCode::node_lost
                         : failure.reason == ErrorCode::none ? ErrorCode::app_error
                                                             : failure.reason;
  return {code,
          fmt::format("rank {}, on node {}: {}", rank, state_->name_of(rank), failure.message)};
}

Error FleetRanks::returned_early(std::size_t rank) const {
  return {ErrorCode::app_error,
          fmt::format("the function on node {} returned without being rank {}: it has to call "
                      "RankOf::run()",
                      state_->name_of(rank), rank)};
}

Error FleetRanks::explain(Error why, const std::vector<std::optional<Failure>>& calls) const {
  std::vector<std::string> lost;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (!calls[rank]) continue;
    const Error error = error_of(rank, *calls[rank]);
    if (calls[rank]->ending == Ending::node_lost) {
      lost.push_back(state_->name_of(rank));
    } else if (error.code != ErrorCode::node_lost && error.code != ErrorCode::cancelled) {
      return error;
    }
  }
  if (!lost.empty()) why.message += fmt::format("; lost: {}", fmt::join(lost, ", "));
  return why;
}

}  // namespace godwit::detail
