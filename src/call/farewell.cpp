// How a link that nobody uses is ended so that nothing is lost with it.
//
// A side that wants to leave starts nothing new on the link, lets what is outstanding finish, and
// then says bye: how many messages it has sent and received. Its peer does the same. Whoever waits
// for nothing, and hears a bye whose numbers are its own turned round, knows that nothing is under
// way in either direction and that nothing can come: it closes the link. Any message in between
// makes the numbers differ, and another bye follows it.
#include <algorithm>
#include <utility>
#include <vector>

#include "call/engine.hpp"

namespace godwit::call {
namespace {

// How often to look when links are never dropped: only for peers to forget.
constexpr Duration kForgetEvery = std::chrono::seconds(60);

}  // namespace

// A timer runs while there are links, or peers to forget; a process without either sleeps.
void Engine::arm_idle_check() {
  if (idle_check_armed_ || shut_down_) return;
  idle_check_armed_ = true;
  const bool drops = options_.idle_link > Duration{};
  const Duration pause = drops ? std::max(options_.idle_link / 2, Duration{1}) : kForgetEvery;
  scheduler_.post_at(scheduler_.now() + pause, [self = self_] {
    if (*self != nullptr) (*self)->check_idle_links();
  });
}

// Any message counts as use, also gossip: the links to a node's few neighbours stay.
void Engine::check_idle_links() {
  idle_check_armed_ = false;
  const Time now = scheduler_.now();
  bool again = false;
  std::vector<LinkState*> idle;
  for (const auto& port : ports_) {
    for (const auto& [id, link] : port->links_) {
      again = true;
      if (!link->up || link->leaving || options_.idle_link == Duration{}) continue;
      if (link->traffic != link->traffic_before || !link->at_rest()) {
        link->traffic_before = link->traffic;
        link->quiet_since = now;
      } else if (now - link->quiet_since >= options_.idle_link) {
        idle.push_back(link.get());
      }
    }
  }
  for (LinkState* link : idle) {  // afterwards: to leave one may be to dial another
    ++stats_.links_left;
    leave(*link);
  }
  if (forget_strangers() || again) arm_idle_check();
}

// Clients come and go, and calls name nodes that never were: a peer that no address leads to is
// forgotten with its last link. True: some are left that may be forgotten later.
bool Engine::forget_strangers() {
  for (const auto& port : ports_) {
    for (const auto& [id, link] : port->links_) {
      if (link->peer != nullptr) link->peer->in_use = true;
    }
  }
  bool busy = false;
  latest_peer_ = nullptr;
  std::erase_if(peers_, [&](const auto& entry) {
    Peer& peer = *entry.second;
    const bool used = std::exchange(peer.in_use, false) || peer.dialling || peer.retry_armed ||
                      !peer.waiting.empty() || !peer.queued.empty();
    busy = busy || (used && !peer.serves);
    return !used && !peer.serves;
  });
  return busy;
}

void Engine::leave(LinkState& link) {
  if (!link.leaving) {
    link.leaving = true;
    std::erase(link.peer->links, &link);
    if (!link.peer->waiting.empty()) pump(*link.peer);
  }
  farewell(link);
}

// Called whenever something has happened on a link that is being left.
void Engine::farewell(LinkState& link) {
  if (!link.up || link.closing || !link.at_rest()) return;
  const Traffic& now = link.traffic;
  if (link.heard_bye && link.peer_total == Traffic{now.received, now.sent}) {
    link.closing = true;
    link.port->transport().close(link.id);
    return;
  }
  if (link.said_bye && link.said == now) return;
  link.said_bye = true;
  link.said = now;
  wire::Header header;
  header.kind = wire::Kind::bye;
  header.id = now.sent;
  header.subject = now.received;
  // Without a body nothing is borrowed; if the link is down already, that ends it too.
  static_cast<void>(link.port->transport().send(link.id, header, {}, 0));
}

void Engine::eased(LinkState& link) {
  if (link.leaving) farewell(link);
}

void Engine::on_bye(LinkState& link, const wire::Header& header) {
  const Traffic total{header.id, header.subject};
  const Traffic& known = link.peer_total;
  // Messages overtake each other; the numbers only grow, so the largest are the latest.
  if (!link.heard_bye || total.sent + total.received > known.sent + known.received) {
    link.peer_total = total;
  }
  link.heard_bye = true;
  leave(link);
}

}  // namespace godwit::call
