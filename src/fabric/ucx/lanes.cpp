// Further connections of a link. One tcp connection gets no more through a lossy network than its
// window between two losses; several do. They are opened once a link has much to send, by the side
// that made the link, through the same handshake; the link's token says which link they are of. A
// body stays on one of them, large objects are many bodies. If one ends, so does the link: what was
// on it is lost.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

// In front of the link's token in the handshake's payload.
constexpr std::string_view kLaneTag = "ucxl";
constexpr std::uint64_t kMuch = std::uint64_t{8} << 20;
constexpr int kPatience = 5;

std::uint64_t waiting_bytes(const Link& link) {
  std::uint64_t bytes = link.main.waiting_bytes();
  for (const auto& lane : link.more) bytes += lane->waiting_bytes();
  for (const OutgoingBody& body : link.offered) bytes += body.left;
  return bytes;
}

}  // namespace

bool UcxTransport::has_going(const Link& link) {
  return !link.main.going.empty() ||
         std::any_of(link.more.begin(), link.more.end(),
                     [](const auto& lane) { return !lane->going.empty(); });
}

Lane& UcxTransport::lane_for(Link& link) {
  Lane* least = &link.main;
  std::uint64_t waiting = link.main.waiting_bytes();
  for (const auto& lane : link.more) {
    if (waiting == 0) break;
    if (const std::uint64_t bytes = lane->waiting_bytes(); bytes < waiting) {
      least = lane.get();
      waiting = bytes;
    }
  }
  return *least;
}

void UcxTransport::want_lanes(Link& link) {
  if (!link.takes_lanes || link.lanes_wanted || waiting_bytes(link) < kMuch) return;
  link.lanes_wanted = true;
  if (link.accepted) {
    (void)send_control(link, ControlWord::lanes);
  } else {
    open_lanes(link);
  }
}

// What cannot be opened is done without.
void UcxTransport::open_lanes(Link& link) {
  if (!link.takes_lanes || link.accepted || !link.lane_setups.empty() || !link.more.empty()) return;
  link.lanes_wanted = true;
  SetupPayload payload{.data = std::string(kLaneTag), .fds = {}};
  payload.data += text_of(bytes_of_value(link.peer_token));
  for (std::size_t i = 1; i < options_.connections; ++i) {
    auto setup = LinkSetup::as_client(
        reactor_, link.address, setup_options(), {.data = payload.data, .fds = {}},
        [this, id = link.id](Result<Established> made) { lane_made(id, std::move(made)); });
    if (!setup) return;
    link.lane_setups.push_back(std::move(*setup));
  }
}

// The set-ups stay until the link ends: one of them may be running this.
void UcxTransport::lane_made(LinkId id, Result<Established> established) {
  Link* const link = links_.find(id);
  if (link == nullptr || !established || established->payload.data != kLaneTag) return;
  attach_lane(*link, std::move(established->socket));
}

bool UcxTransport::is_for_lane(const Established& established) {
  return established.payload.data.starts_with(kLaneTag);
}

// Called when the client has proved itself, and before it hears so.
Result<SetupPayload> UcxTransport::answer_lane(Established& established) {
  std::uint64_t token = 0;
  const std::string_view payload = established.payload.data;
  if (payload.size() == kLaneTag.size() + sizeof token) {
    std::memcpy(&token, payload.data() + kLaneTag.size(), sizeof token);
  }
  Link* const link = links_.find_token(token);
  const bool known = link != nullptr && link->accepted && link->takes_lanes &&
                     link->state == LinkState::up && link->peer_node == established.peer.node &&
                     link->peer_epoch == established.peer.epoch;
  if (!known) {
    return fail(ErrorCode::unauthorised, "a connection for a link that there is not");
  }
  if (link->more.size() + 1 >= options_.connections) {
    return fail(ErrorCode::resource_exhausted, "the link has {} connections already",
                options_.connections);
  }
  established.context = std::make_shared<LinkId>(link->id);
  return SetupPayload{.data = std::string(kLaneTag), .fds = {}};
}

void UcxTransport::attach_lane(Link& link, std::unique_ptr<ControlSocket> socket) {
  const bool alive = link.state == LinkState::up || link.state == LinkState::saying_bye;
  if (!alive || link.more.size() + 1 >= options_.connections) return;
  link.more.push_back(std::make_unique<Lane>(link));
  // One of several may be unlucky for a while: the control socket tells whether the peer is alive.
  Heartbeat patient = options_.heartbeat;
  patient.silence *= kPatience;
  link.more.back()->attach(*this, std::move(socket), patient);
}

std::size_t UcxTransport::lane_count() const noexcept {
  std::size_t count = 0;
  links_.for_each([&](const Link& link) { count += link.more.size(); });
  return count;
}

}  // namespace godwit::fabric::ucx
