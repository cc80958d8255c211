// The runtime's links: transports, listening and dialling.
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "fabric/relay/transport.hpp"
#include "fabric/shm/transport.hpp"
#include "node/runtime.hpp"
#ifdef GODWIT_WITH_UCX
#include "fabric/ucx/transport.hpp"
#endif

namespace godwit::node {
namespace {

using Scheme = fabric::Address::Scheme;

// What a direct link takes on a good network, many times over, and a person hardly notices.
constexpr std::chrono::milliseconds kHeadStart{300};
// After a link through a relay came up, for the peer's addresses to be known.
constexpr std::chrono::milliseconds kSeekPause{1000};

bool is_relay(const fabric::Address& address) {
  return address.scheme == Scheme::relay;
}

// In the node's order, but relays last.
std::vector<fabric::Address> usable_addresses(const fleet::NodeRecord& record) {
  std::vector<fabric::Address> usable;
  std::vector<fabric::Address> relays;
  for (const std::string& text : record.addresses) {
    const auto address = fabric::Address::parse(text);
    if (!address) continue;
    if (address->scheme == Scheme::shm && ::access(address->host.c_str(), F_OK) != 0) continue;
    (is_relay(*address) ? relays : usable).push_back(*address);
  }
  usable.insert(usable.end(), relays.begin(), relays.end());
  return usable;
}

}  // namespace

fabric::Hello Runtime::hello() const {
  return {options_.id, options_.epoch, wire::encode(engine_->hello())};
}

Status Runtime::make_shm() {
  if (shm_ != nullptr) return {};
  shm_port_ = &engine_->add_port("shm");
  fabric::shm::ShmTransport::Options options;
  options.hello = [this] { return hello(); };
  options.key = options_.key ? &*options_.key : nullptr;
  options.inbound_budget = options_.inbound_budget_bytes;
  GODWIT_TRY(shm_, fabric::shm::ShmTransport::create(*reactor_, *shm_port_, std::move(options)));
  shm_port_->bind(*shm_);
  return reactor_->add(*shm_);
}

#ifdef GODWIT_WITH_UCX
Status Runtime::make_ucx(const fabric::Address& network) {
  if (ucx_ != nullptr) return {};
  ucx_port_ = &engine_->add_port("tcp");
  fabric::ucx::UcxOptions options;
  options.self = hello();
  options.key = options_.key ? &*options_.key : nullptr;
  options.network = network;
  options.inbound_budget_bytes = options_.inbound_budget_bytes;
  // Within a host several are slower than one: what they hold does not fit into the caches.
  options.connections = network.is_loopback() ? 1 : options_.tcp_connections;
  GODWIT_TRY(ucx_, fabric::ucx::UcxTransport::create(*reactor_, *ucx_port_, std::move(options)));
  ucx_port_->bind(*ucx_);
  return {};
}
#else
Status Runtime::make_ucx(const fabric::Address&) {
  return fail(ErrorCode::unsupported, "this build has no tcp transport (GODWIT_WITH_UCX is off)");
}
#endif

Status Runtime::make_relay() {
  if (relay_ != nullptr) return {};
  fabric::relay::RelayOptions options;
  options.hello = [this] { return hello(); };
  options.key = options_.key ? &*options_.key : nullptr;
  options.inbound_budget_bytes = options_.inbound_budget_bytes;
  options.on_notice = [this](const std::string& text) { log_.warn("{}", text); };
  if (relay_port_ == nullptr) {
    relay_port_ = &engine_->add_port("relay");
    relay_news_ = std::make_unique<LinkNews>(*relay_port_, [this](NodeId peer) {
      reactor_->post_at(reactor_->now() + kSeekPause, [this, peer] { seek_direct(peer); });
    });
  }
  GODWIT_TRY(relay_,
             fabric::relay::RelayTransport::create(*reactor_, *relay_news_, std::move(options)));
  relay_port_->bind(*relay_);
  return {};
}

// Transports are made when first needed: a client that talks to its own host never opens UCX.
Result<call::Port*> Runtime::port_for(const fabric::Address& address) {
  switch (address.scheme) {
    case fabric::Address::Scheme::shm: GODWIT_CHECK(make_shm()); return shm_port_;
    case fabric::Address::Scheme::tcp: GODWIT_CHECK(make_ucx(address)); return ucx_port_;
    case fabric::Address::Scheme::relay: GODWIT_CHECK(make_relay()); return relay_port_;
    case fabric::Address::Scheme::sim: break;
  }
  return fail(ErrorCode::bad_address, "{} is not an address of a real process",
              address.to_string());
}

Status Runtime::listen(const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    GODWIT_TRY(const fabric::Address address, fabric::Address::parse(text));
    if (!address.is_loopback() && !options_.key) {
      return fail(ErrorCode::unauthorised,
                  "will not listen at {} without a fleet key: anybody could send code there; make "
                  "one with `godwit key new FILE` and pass --key-file FILE",
                  text);
    }
    GODWIT_TRY(call::Port * port, port_for(address));
    GODWIT_TRY(const fabric::Address bound, port->transport().listen(address));
    addresses_.push_back(bound.to_string());
  }
  fleet::NodeRecord record;
  record.name = options_.name;
  record.addresses = addresses_;
  record.target = options_.target;
  record.capacities = options_.capacities;
  record.role = fleet::NodeRole::node;
  return directory_->publish(std::move(record));
}

// In the order the node prefers, which is the order it was told to listen in; a Unix socket counts
// only where its file is on this host. Relays come last, with a head start for the others.
Result<call::Dialer::Dialled> Runtime::dial(NodeId node, unsigned attempt) {
  const auto record = directory_->node(node);
  if (!record) {
    return fail(ErrorCode::not_found, "no node of this fleet has the id {}", to_hex(node.value));
  }
  const std::vector<fabric::Address> usable = usable_addresses(*record);
  if (attempt >= usable.size()) {
    return fail(ErrorCode::not_found, "{} has no {}address this process can reach ({})",
                record->name.empty() ? to_hex(node.value) : "node '" + record->name + "'",
                attempt > 0 ? "further " : "", fmt::join(record->addresses, ", "));
  }
  if (is_relay(usable[attempt])) return take_detour(node, usable[attempt]);
  if (attempt == 0) detours_.erase(node);
  if (is_relay(usable.back())) start_detour_later(node, usable.back());
  GODWIT_TRY(call::Port * port, port_for(usable[attempt]));
  GODWIT_TRY(const LinkId link, port->transport().connect(usable[attempt]));
  return Dialled{port, link};
}

// The link that is being made through the relay already, or a new one.
Result<call::Dialer::Dialled> Runtime::take_detour(NodeId node, const fabric::Address& relay) {
  const auto found = detours_.find(node);
  if (found != detours_.end() && !found->second.taken) {
    found->second.taken = true;
    return found->second.dialled;
  }
  GODWIT_TRY(call::Port * port, port_for(relay));
  GODWIT_TRY(const LinkId link, port->transport().connect(relay));
  detours_[node] = {.dialled = {port, link}, .taken = true};
  return Dialled{port, link};
}

// An address of another network answers late or never. The call that waits takes the relay's link
// as soon as there is one; if the direct one comes up after all, later calls take that.
void Runtime::start_detour_later(NodeId node, const fabric::Address& relay) {
  reactor_->post_at(reactor_->now() + kHeadStart, [this, node, relay] {
    if (stopped_ || engine_->is_linked(node) || detours_.contains(node)) return;
    const auto port = port_for(relay);
    if (!port) return;
    const auto link = (*port)->transport().connect(relay);
    if (link) detours_[node] = {.dialled = {*port, *link}, .taken = false};
  });
}

// Who came by a relay, to join for instance, may be near all the same.
void Runtime::seek_direct(NodeId node) {
  const auto record = directory_->node(node);
  if (stopped_ || !record || !engine_->is_linked(node) || has_direct_.contains(node)) return;
  for (const fabric::Address& address : usable_addresses(*record)) {
    if (is_relay(address)) continue;
    const auto port = port_for(address);
    if (port && (*port)->transport().connect(address)) return;
  }
}

void Runtime::on_stray_down(LinkId link, const Error& why) {
  const auto is_detour = [link](const auto& one) { return one.second.dialled.link == link; };
  if (link.value != 0 && std::erase_if(detours_, is_detour) != 0) {
    log_.debug("a relay was of no use: {}", why.message);
    return;
  }
  log_.debug("a seed could not be reached: {}", why.message);
  {
    const std::lock_guard lock(view_mutex_);
    join_error_ = why;
  }
  view_changed_.notify_all();
}

void Runtime::reach(std::string_view address_text) {
  const auto failed = [this](const Error& why) {
    reactor_->post([this, why] { on_stray_down({}, why); });
  };
  const auto address = fabric::Address::parse(address_text);
  if (!address) return failed(address.error());
  const auto port = port_for(*address);
  if (!port) return failed(port.error());
  if (const auto link = (*port)->transport().connect(*address); !link) failed(link.error());
}

}  // namespace godwit::node
