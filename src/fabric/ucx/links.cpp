// How a link comes up: handshake, endpoint, greeting.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

// In front of the worker's address in the handshake's payload.
constexpr std::string_view kPayloadTag = "ucx1";
// The feature of a link whose peers understand batches.
constexpr const char* kBatchFeature = "ucx-batch";
// Of one whose peers take large bodies that they have not asked for.
constexpr const char* kUnaskedFeature = "ucx-unasked";
// Of one whose peers open further connections for them.
constexpr const char* kLanesFeature = "ucx-lanes";
// A process with less memory for bodies wants to be asked.
constexpr std::size_t kBudgetForUnasked = 4 * kUnaskedWindow;

Error no_room(std::size_t max_links) {
  return {ErrorCode::resource_exhausted,
          fmt::format("all {} links of this process are in use; close some, or raise max_links",
                      max_links)};
}

}  // namespace

LinkSetup::Options UcxTransport::setup_options() const {
  std::vector<std::string> features;
  if (options_.batches) features.emplace_back(kBatchFeature);
  if (options_.inbound_budget_bytes >= kBudgetForUnasked) features.emplace_back(kUnaskedFeature);
  if (options_.connections > 1) features.emplace_back(kLanesFeature);
  return {.self = options_.self,
          .key = options_.key,
          .features = std::move(features),
          .timeout = options_.connect_timeout};
}

Result<Address> UcxTransport::listen(const Address& address) {
  reactor_.assert_owner();
  if (address.scheme != Address::Scheme::tcp || acceptor_ != nullptr) {
    return fail(ErrorCode::invalid_argument,
                "{}: this transport listens once, at an address that begins with tcp:",
                address.to_string());
  }
  GODWIT_TRY(const Devices devices, devices_for(address));
  if (devices.net != devices_.net && devices_.net != "all") {
    return fail(ErrorCode::bad_address,
                "{}: UCX is bound to {} ({}), and peers would not reach it; use one address for "
                "both",
                address.to_string(), options_.network.to_string(), devices_.net);
  }
  GODWIT_TRY(acceptor_, LinkAcceptor::listen(
                            reactor_, address, {.setup = setup_options()},
                            [this](Established& link) { return answer(link); },
                            [this](Established link) { attach_accepted(std::move(link)); }));
  return acceptor_->address();
}

Result<LinkId> UcxTransport::connect(const Address& address) {
  reactor_.assert_owner();
  if (address.scheme != Address::Scheme::tcp) {
    return fail(ErrorCode::invalid_argument,
                "{}: not an address that begins with tcp:", address.to_string());
  }
  Link* const link = links_.add();
  if (link == nullptr) return tl::unexpected(no_room(options_.max_links));
  const LinkId id = link->id;
  SetupPayload payload{.data = std::string(kPayloadTag) + worker_->address(), .fds = {}};
  auto setup = LinkSetup::as_client(
      reactor_, address, setup_options(), std::move(payload),
      [this, id](Result<Established> established) { handshake_done(id, std::move(established)); });
  if (!setup) {
    links_.remove(*link);
    return tl::unexpected(std::move(setup).error());
  }
  link->setup = std::move(*setup);
  link->address = address;
  link->announced = true;
  return id;
}

// The peer's half of a link we asked for.
void UcxTransport::handshake_done(LinkId id, Result<Established> established) {
  Link* const link = links_.find(id);
  if (link == nullptr || link->state != LinkState::handshake) return;
  link->setup.reset();
  if (!established) {
    end(*link, std::move(established).error());
    return;
  }
  if (Status wired = wire(*link, *established); !wired) {
    end(*link, std::move(wired).error());
    return;
  }
  attach_socket(*link, std::move(established->socket));
  (void)send_control(*link, ControlWord::greeting);
}

// Called when a client has proved itself and before it hears so: from here on its messages find
// their link.
Result<SetupPayload> UcxTransport::answer(Established& established) {
  if (is_for_lane(established)) return answer_lane(established);
  Link* const link = links_.add();
  if (link == nullptr) return tl::unexpected(no_room(options_.max_links));
  link->accepted = true;
  if (Status wired = wire(*link, established); !wired) {
    links_.remove(*link);
    return tl::unexpected(std::move(wired).error());
  }
  established.context = std::make_shared<LinkId>(link->id);
  return SetupPayload{.data = std::string(kPayloadTag) + worker_->address(), .fds = {}};
}

void UcxTransport::attach_accepted(Established established) {
  Link* const link = links_.find(*static_cast<const LinkId*>(established.context.get()));
  if (is_for_lane(established)) {
    if (link != nullptr) attach_lane(*link, std::move(established.socket));
    return;
  }
  if (link == nullptr || link->state != LinkState::wiring) return;  // too late; the client sees EOF
  attach_socket(*link, std::move(established.socket));
}

// Makes the endpoint. An accepted link whose handshake stops here is swept up by the deadline.
Status UcxTransport::wire(Link& link, const Established& established) {
  const std::string_view payload = established.payload.data;
  if (!payload.starts_with(kPayloadTag)) {
    return fail(ErrorCode::handshake_failed, "the peer does not speak UCX on this address");
  }
  GODWIT_TRY(link.endpoint, Endpoint::create(*worker_, payload.substr(kPayloadTag.size()),
                                             &UcxTransport::on_endpoint_error, this));
  link.peer_token = established.link_token;
  std::uint64_t own_token = established.link_token;
  // Both ends of a link with oneself are in one table: each needs a token of its own.
  const Hello& self = options_.self;
  if (established.peer.node == self.node && established.peer.epoch == self.epoch) {
    std::uint64_t& other = link.accepted ? own_token : link.peer_token;
    other = ~other;
  }
  if (!links_.set_token(link, own_token)) {
    return fail(ErrorCode::handshake_failed, "two links got the same token; connect again");
  }
  link.peer = established.peer;
  link.peer_node = established.peer.node;
  link.peer_epoch = established.peer.epoch;
  const auto both_have = [&](const char* feature) {
    return std::ranges::count(established.features, feature) > 0;
  };
  link.takes_batches = both_have(kBatchFeature);
  link.unasked_out.allowed = both_have(kUnaskedFeature);
  link.takes_lanes = link.unasked_out.allowed && both_have(kLanesFeature);
  link.state = LinkState::wiring;
  set_deadline(link, options_.connect_timeout);
  return {};
}

void UcxTransport::attach_socket(Link& link, std::unique_ptr<ControlSocket> socket) {
  link.main.attach(*this, std::move(socket), options_.heartbeat);
  come_up_if_ready(link);
}

void UcxTransport::peer_greeted(Link& link) {
  link.greeted = true;
  come_up_if_ready(link);
  deliver_changes();  // we are inside poll(), and on_up comes before the next message
}

void UcxTransport::come_up_if_ready(Link& link) {
  if (link.state != LinkState::wiring || !link.greeted || link.main.socket == nullptr) return;
  // The client is up when it hears this: not before we are.
  if (link.accepted && !send_control(link, ControlWord::greeting)) return;
  reactor_.cancel(link.deadline);
  link.state = LinkState::up;
  link.announced = true;
  changes_.push_back({.link = link.id, .up = true, .peer = std::move(link.peer), .why = {}});
}

void UcxTransport::set_deadline(Link& link, std::chrono::milliseconds after) {
  reactor_.cancel(link.deadline);
  link.deadline =
      reactor_.post_at(reactor_.now() + after, [this, id = link.id] { deadline_passed(id); });
}

void UcxTransport::deadline_passed(LinkId id) {
  Link* const link = links_.find(id);
  if (link == nullptr) return;
  switch (link->state) {
    case LinkState::handshake:
    case LinkState::up: return;
    case LinkState::wiring:
      end(*link, {ErrorCode::unreachable,
                  fmt::format("the handshake worked, but no active message came through within {} "
                              "ms; is a firewall between the peers' UCX ports?",
                              options_.connect_timeout.count())});
      return;
    case LinkState::saying_bye: end(*link, {ErrorCode::none, "the link was closed"}); return;
    case LinkState::ending: link->overdue = true; return;
  }
}

}  // namespace godwit::fabric::ucx
