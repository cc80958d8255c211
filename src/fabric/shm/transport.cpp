// Making and ending links. How messages move is in transport_poll.cpp.
#include "fabric/shm/transport.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "fabric/link_id.hpp"

namespace godwit::fabric::shm {
namespace {

// A transport's part of the set-up. Bytes that follow are for later versions.
struct SetupData {
  std::array<char, 4> magic{'s', 'h', 'm', '1'};
  std::uint32_t slot = 0;
  std::uint64_t ring_size = 0;
};
static_assert(sizeof(SetupData) == 16);

constexpr std::size_t kSetupFds = 1 + Doorbell::kFdCount;

}  // namespace

// Gives the slot back if the handshake fails after the answer was made.
struct ShmTransport::Reservation {
  Reservation(ShmTransport& owner, LinkId link) : transport(owner), id(link) {}
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() {
    Link* link = transport.find(id);
    if (link != nullptr && link->state == Link::State::making) transport.remove(*link);
  }
  ShmTransport& transport;
  LinkId id;
};

Result<std::unique_ptr<ShmTransport>> ShmTransport::create(Reactor& reactor,
                                                           TransportEvents& events,
                                                           Options options) {
  if (!std::has_single_bit(options.ring_size) || options.ring_size < kMinRingSize ||
      options.ring_size > kMaxRingSize)
    return fail(ErrorCode::invalid_argument,
                "a ring of {} bytes: choose a power of two from {} to {}", options.ring_size,
                kMinRingSize, kMaxRingSize);
  GODWIT_TRY(Doorbell doorbell, Doorbell::create());
  std::unique_ptr<ShmTransport> transport(
      new ShmTransport(reactor, events, std::move(options), std::move(doorbell)));
  if (transport->scratch_.empty())
    return fail(ErrorCode::out_of_memory, "no memory for a shm transport");
  GODWIT_CHECK(reactor.watch(transport->doorbell_.event().get(), EPOLLIN | EPOLLET, *transport));
  return transport;
}

ShmTransport::ShmTransport(Reactor& reactor, TransportEvents& events, Options options,
                           Doorbell doorbell)
    : reactor_(reactor),
      events_(events),
      options_(std::move(options)),
      doorbell_(std::move(doorbell)),
      inbound_{options_.inbound_budget, 0},
      idle_memory_(reactor),
      scratch_(Buffer::allocate(kSmallLimit)) {
  unfenced_.reserve(kMaxLinks);
  sending_.reserve(kMaxLinks);
  ending_.reserve(kMaxLinks);
}

ShmTransport::~ShmTransport() {
  for (const auto& link : links_)
    if (link) reactor_.cancel(link->close_timer);
  acceptor_.reset();
  reactor_.unwatch(doorbell_.event().get());
}

Result<Address> ShmTransport::listen(const Address& address) {
  if (address.scheme != Address::Scheme::shm || acceptor_)
    return fail(ErrorCode::bad_address, "cannot listen at {}: {}", address.to_string(),
                acceptor_ ? "this transport listens already" : "it is not a shm: address");
  LinkAcceptor::Options options;
  options.setup.key = options_.key;
  options.setup.timeout = options_.handshake_timeout;
  options.hello = options_.hello;
  options.max_pending = options_.max_pending_handshakes;
  GODWIT_TRY(acceptor_, LinkAcceptor::listen(
                            reactor_, address, std::move(options),
                            [this](Established& established) { return answer(established); },
                            [this](Established established) {
                              const auto reservation =
                                  std::static_pointer_cast<Reservation>(established.context);
                              Link* link = find(reservation->id);
                              if (link != nullptr) bring_up(*link, std::move(established));
                            }));
  return acceptor_->address();
}

Result<LinkId> ShmTransport::connect(const Address& address) {
  if (address.scheme != Address::Scheme::shm)
    return fail(ErrorCode::bad_address, "cannot reach {} over shared memory", address.to_string());
  GODWIT_TRY(Link * link, add_link());
  const LinkId id = link->id;
  const Reservation reservation(*this, id);
  GODWIT_TRY(SetupPayload payload, payload_for(*link));
  LinkSetup::Options options;
  options.self = options_.hello ? options_.hello() : Hello{};
  options.key = options_.key;
  options.timeout = options_.handshake_timeout;
  GODWIT_TRY(link->setup,
             LinkSetup::as_client(reactor_, address, std::move(options), std::move(payload),
                                  [this, id](Result<Established> established) {
                                    connected(id, std::move(established));
                                  }));
  link->state = Link::State::connecting;
  return id;
}

Result<Link*> ShmTransport::add_link() {
  const auto free = std::find(links_.begin(), links_.end(), nullptr);
  if (free == links_.end())
    return fail(ErrorCode::resource_exhausted,
                "this process has {} links already, the most one "
                "shm transport carries; close some",
                kMaxLinks);
  const auto slot = static_cast<std::uint16_t>(free - links_.begin());
  const LinkId id = make_link_id(Address::Scheme::shm, next_serial_++, slot);
  std::unique_ptr<Link> link(new Link(*this, slot, id, options_.ring_size, inbound_));
  GODWIT_TRY(link->in, RingConsumer::create(options_.ring_size));
  link->max_body = static_cast<std::uint32_t>(max_record_body(options_.ring_size));
  *free = std::move(link);
  return free->get();
}

Result<SetupPayload> ShmTransport::payload_for(const Link& link) const {
  SetupData data;
  data.slot = link.slot;
  data.ring_size = options_.ring_size;
  SetupPayload payload;
  payload.data = text_of(bytes_of_value(data));
  GODWIT_TRY(Fd ring, link.in.share());
  payload.fds.push_back(std::move(ring));
  GODWIT_TRY(std::vector<Fd> bell, doorbell_.share());
  for (Fd& fd : bell) payload.fds.push_back(std::move(fd));
  return payload;
}

Status ShmTransport::open_peer(Link& link, SetupPayload& payload) {
  SetupData data;
  if (payload.data.size() < sizeof data || payload.fds.size() != kSetupFds)
    return fail(ErrorCode::protocol_violation, "the peer's shm set-up is malformed");
  std::memcpy(&data, payload.data.data(), sizeof data);
  if (data.magic != SetupData{}.magic)
    return fail(ErrorCode::protocol_violation, "the peer's shm set-up is of an unknown kind");
  GODWIT_TRY(link.out, RingProducer::open(payload.fds[0], data.ring_size));
  link.outbox = Outbox(data.ring_size);
  payload.fds.erase(payload.fds.begin());
  GODWIT_TRY(link.peer, PeerDoorbell::open(std::move(payload.fds), data.slot));
  return {};
}

Result<SetupPayload> ShmTransport::answer(Established& established) {
  GODWIT_TRY(Link * link, add_link());
  established.context = std::make_shared<Reservation>(*this, link->id);
  GODWIT_CHECK(open_peer(*link, established.payload));
  return payload_for(*link);
}

void ShmTransport::connected(LinkId id, Result<Established> established) {
  Link* link = find(id);
  if (link == nullptr || link->state != Link::State::connecting) return;
  if (!established) {
    go_down(*link, std::move(established).error());
    return;
  }
  if (auto status = open_peer(*link, established->payload); !status) {
    go_down(*link, std::move(status).error());
    return;
  }
  bring_up(*link, *std::move(established));
}

void ShmTransport::bring_up(Link& link, Established established) {
  link.state = Link::State::up;
  link.in.forget_memory();
  link.socket = std::move(established.socket);  // heard from once the link is announced
  queued_events_.push_back({Event::Kind::up, link.id, 0, {}, std::move(established.peer)});
  left_over_[link.slot / 64] |= std::uint64_t{1} << (link.slot % 64);  // what came early
}

void ShmTransport::close(LinkId id) {
  Link* link = find(id);
  if (link == nullptr) return;
  if (link->state == Link::State::connecting) {
    go_down(*link, {ErrorCode::none, "the link was closed before it was made"});
    return;
  }
  if (link->state == Link::State::ending) go_down(*link, {ErrorCode::none, "the link was closed"});
  if (link->state != Link::State::up) return;
  link->state = Link::State::closing;
  start_sending(*link);
  link->close_timer = reactor_.post_at(reactor_.now() + options_.close_grace, [this, id] {
    Link* late = find(id);
    if (late != nullptr) go_down(*late, {ErrorCode::none, "the link was closed"});
  });
}

void ShmTransport::on_control_closed(Link& link, const Error& why) {
  if (link.state == Link::State::closing) {
    go_down(link, {ErrorCode::none, "the link was closed"});
  } else if (link.state == Link::State::up) {
    link.state = Link::State::ending;
    link.end_reason = why;
    ending_.push_back(&link);
  }
}

// Called from handlers too: the link is removed when its end is delivered, from poll().
void ShmTransport::go_down(Link& link, Error why) {
  if (link.state == Link::State::down) return;
  link.state = Link::State::down;
  queued_events_.push_back({Event::Kind::down, link.id, 0, std::move(why), {}});
}

void ShmTransport::violated(Link& link) {
  go_down(link, {ErrorCode::protocol_violation,
                 "the peer wrote something into shared memory that is not a message of this "
                 "protocol; its process is broken or hostile"});
}

void ShmTransport::remove(Link& link) {
  reactor_.cancel(link.close_timer);
  for (std::size_t i = hot_count_; i-- > 0;)
    if (hot_[i] == &link) make_cold(i);
  left_over_[link.slot / 64] &= ~(std::uint64_t{1} << (link.slot % 64));
  std::erase(unfenced_, &link);
  std::erase(sending_, &link);
  std::erase(ending_, &link);
  links_[link.slot].reset();
}

Link* ShmTransport::find(LinkId id) const {
  const std::uint16_t slot = slot_of(id);
  if (slot >= kMaxLinks) return nullptr;
  Link* link = links_[slot].get();
  return link != nullptr && link->id == id ? link : nullptr;
}

}  // namespace godwit::fabric::shm
