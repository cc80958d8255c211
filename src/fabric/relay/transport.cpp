#include "fabric/relay/transport.hpp"

#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric::relay {

Result<std::unique_ptr<RelayTransport>> RelayTransport::create(Reactor& reactor,
                                                               TransportEvents& events,
                                                               RelayOptions options) {
  if (options.key == nullptr) {
    return fail(
        ErrorCode::unauthorised,
        "a relay is of use to fleets with a key only: without one anybody could read along; "
        "make one with `godwit key new FILE` and pass --key-file FILE");
  }
  if (options.max_links == 0 || options.max_links > UINT16_MAX) {
    return fail(ErrorCode::invalid_argument, "max_links is {}; use 1 to {}", options.max_links,
                UINT16_MAX);
  }
  std::unique_ptr<RelayTransport> transport(
      new RelayTransport(reactor, events, std::move(options)));
  if (transport->text_.data() == nullptr) {
    return fail(ErrorCode::out_of_memory, "no memory for the relay's links");
  }
  GODWIT_CHECK(reactor.add(*transport));
  return transport;
}

RelayTransport::RelayTransport(Reactor& reactor, TransportEvents& events, RelayOptions options)
    : reactor_(reactor),
      events_(events),
      options_(std::move(options)),
      relay_key_(trust::relay_key_of(*options_.key)),
      idle_memory_(reactor),
      links_(options_.max_links),
      text_(Buffer::allocate(SealedStream::kMaxText)) {}

RelayTransport::~RelayTransport() {
  enrolment_.reset();
  reactor_.cancel(beat_timer_);
  links_.for_each([this](Link& link) {
    reactor_.cancel(link.deadline);
    if (link.stream != nullptr) reactor_.unwatch(link.stream->fd());
  });
  reactor_.remove(*this);
}

Result<Address> RelayTransport::listen(const Address& address) {
  reactor_.assert_owner();
  if (address.scheme != Address::Scheme::relay || enrolment_ != nullptr) {
    return fail(ErrorCode::invalid_argument,
                "{}: a process enrols at one relay, at an address that begins with relay:",
                address.to_string());
  }
  Address relay = address;
  relay.scheme = Address::Scheme::tcp;
  Enrolment::Options options{
      .relay = relay,
      .setup = relay_setup(),
      .heartbeat = options_.heartbeat,
      .on_summons = [this, relay](const Token& token) { summoned(relay, token); },
      .on_notice = options_.on_notice};
  if (!options.on_notice) options.on_notice = [](const std::string&) {};
  Address bound = address;
  bound.index = options.setup.self.node.value;
  enrolment_ = std::make_unique<Enrolment>(reactor_, std::move(options));
  return bound;
}

Result<LinkId> RelayTransport::connect(const Address& address) {
  reactor_.assert_owner();
  if (address.scheme != Address::Scheme::relay) {
    return fail(ErrorCode::invalid_argument,
                "{}: not an address that begins with relay:", address.to_string());
  }
  return call_relay(address, {.what = Request::What::dial, .node = {address.index}});
}

std::size_t RelayTransport::poll(std::size_t budget) {
  in_poll_ = true;
  std::size_t work = 0;
  for (std::size_t i = busy_.size(); i-- > 0;) {
    Link* const link = links_.find(busy_[i]);
    if (link != nullptr && link->stream != nullptr && link->state != LinkState::ended) {
      if (link->readable && work < budget) work += receive(*link, budget - work);
      feed(*link);
      if (has_work(*link)) continue;
    }
    if (link != nullptr) link->busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  in_poll_ = false;
  if (!sent_.empty()) work += deliver_sent();
  if (!ended_.empty()) work += finish_endings();
  return work;
}

bool RelayTransport::prepare_to_sleep() {
  return busy_.empty() && sent_.empty() && ended_.empty();
}

}  // namespace godwit::fabric::relay
