// Links coming and going, and what that means for the calls on them.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/port.hpp"

namespace godwit::call {
namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(20);
constexpr Duration kLastBackoff = std::chrono::milliseconds(500);
// Between two looks for news of a node; one costs a look-up.
constexpr Duration kNewsPause = std::chrono::milliseconds(20);
// Whether to send the call (again) to a node that was lost: only what may run twice, and only for a
// while after its first trouble.
bool worth_retrying(OutgoingCall& call, Time now, Duration window) {
  if (!call.function->idempotent || call.is_hop) return false;
  Time& until = call.rare().retry_until;
  if (until.ns == 0) until = std::min(call.deadline, now + window);
  return now < until;
}

// The first link is used: one that takes a way round stands behind those that do not.
void add_link(Peer& peer, LinkState& link) {
  const auto is_detour = [](const LinkState* one) { return one->port->transport().is_detour(); };
  const auto place = is_detour(&link)
                         ? peer.links.end()
                         : std::find_if(peer.links.begin(), peer.links.end(), is_detour);
  peer.links.insert(place, &link);
}

constexpr std::uint32_t kMaxCredits = 65536;  // whatever a peer claims to grant

}  // namespace

Peer& Engine::peer_of(NodeId node) {
  if (latest_peer_ != nullptr && latest_peer_->id == node) return *latest_peer_;
  auto& peer = peers_[node];
  if (peer == nullptr) {
    peer = std::make_unique<Peer>();
    peer->id = node;
    arm_idle_check();
  }
  latest_peer_ = peer.get();
  return *peer;
}

void Engine::on_up(Port& port, LinkId id, const fabric::Hello& hello) {
  LinkState& link = port.add(id);
  auto parsed = wire::parse_peer_hello(hello.blob);
  if (!parsed) {
    ++stats_.protocol_errors;
    observer_.on_warning("closing a link to a peer whose hello makes no sense: " +
                         parsed.error().message);
    port.transport().close(id);
    return;
  }
  Peer* dialled = link.peer;
  Peer& peer = peer_of(hello.node);
  peer.name = parsed->name;
  peer.serves = parsed->serves;
  peer.broke = false;
  peer.backoff = {};
  link.peer = &peer;
  link.up = true;
  link.came_up = true;
  link.credits = link.granted = std::min(parsed->credits, kMaxCredits);
  link.quiet_since = scheduler_.now();
  arm_idle_check();
  add_link(peer, link);
  if (dialled == &peer) {
    peer.dialling = false;
    peer.attempt = 0;
  } else if (dialled != nullptr) {
    dial_failed(*dialled, Error{ErrorCode::unreachable,
                                fmt::format("{} is not at that address any more: {} answers there",
                                            dialled->describe(), peer.describe())});
  }
  observer_.on_peer_up(peer.id, *parsed);
  for (QueuedMessage& queued : std::exchange(peer.queued, {})) {
    send_or_queue(peer.id, queued.header, std::move(queued.body));
  }
  if (LinkState* usable = peer.link(); usable != nullptr) search_.link_up(peer.id, *usable);
  pump(peer);
}

void Engine::on_down(Port& port, LinkId id, const Error& why) {
  LinkState* link = port.find(id);
  if (link == nullptr) return observer_.on_stray_down(id, why);
  Peer* peer = link->peer;
  const bool was_up = link->came_up;
  // Both sides were done with it, whatever this side's transport calls it.
  const bool in_good_order = link->leaving && link->at_rest();
  link->up = false;
  if (peer != nullptr) std::erase(peer->links, link);

  // Nothing is borrowed from us any more, and nobody waits for what runs on this link's behalf.
  for (auto it = kept_.begin(); it != kept_.end();) {
    if (it->second.link != link) {
      ++it;
      continue;
    }
    Kept kept = std::move(it->second);
    it = kept_.erase(it);
    let_go(kept);
  }
  lose_incoming(*link);
  lose_sent(*link, why);
  search_.link_down(*link, why);
  port.remove(id);

  if (peer == nullptr) return;
  if (!was_up) {
    dial_failed(*peer, why);
    return;
  }
  if (peer->links.empty()) {
    peer->broke = !in_good_order;
    observer_.on_peer_down(peer->id, in_good_order ? Error{ErrorCode::none, "idle"} : why);
  }
  if (!peer->waiting.empty()) pump(*peer);
}

void Engine::lose_sent(LinkState& link, const Error& why) {
  Peer& peer = *link.peer;
  const Time now = scheduler_.now();
  std::vector<OutgoingCall*> lost;
  for (OutgoingCall* call : live_) {
    if (call != nullptr && call->link == &link) lost.push_back(call);
  }
  std::ranges::sort(lost, {}, &OutgoingCall::id);
  for (OutgoingCall* one : lost) {
    OutgoingCall& call = *one;
    take_off(link, call);
    const bool again = !shut_down_ && worth_retrying(call, now, options_.reconnect_window);
    if (!again) {
      end(call, {Ending::node_lost, true, ErrorCode::node_lost},
          bytes_of(fmt::format("the link to {} broke: {}", peer.describe(), why.message)));
      continue;
    }
    ++stats_.calls_resent;
    call.lost_once = true;
    call.state = OutgoingCall::State::waiting;
    peer.waiting.push_back(call);
  }
}

void Engine::lose_incoming(LinkState& link) {
  std::vector<ContentId> orphaned;
  const auto lose = [&](IncomingCall& call) {
    call.link = nullptr;
    call.cancelled.store(true, std::memory_order_relaxed);
    if (call.state == IncomingCall::State::parked) {
      orphaned.push_back(call.bundle_id);
      release(call);
    } else if (call.state == IncomingCall::State::watching ||
               call.state == IncomingCall::State::waiting) {
      release(call);
    } else if (call.state == IncomingCall::State::travelling) {
      cancel_travelling(call);
      release(call);
    }
  };
  link.incoming.for_each([&](IncomingCall& call) {
    link.incoming.remove(call);
    lose(call);
  });
  for (const auto& [id, call] : std::exchange(link.waiting_long, {})) lose(*call);
  link.incoming_count = 0;
  // Whoever was asked last may be gone; but code that has come and is being loaded needs nobody.
  for (const ContentId& bundle : orphaned) {
    if (store_->residence(bundle) == nullptr) search_.want(bundle);
  }
}

LinkState* Engine::link_to(NodeId node) {
  Peer& peer = peer_of(node);
  if (LinkState* link = peer.link(); link != nullptr) return link;
  dial(peer);
  return nullptr;
}

void Engine::dial(Peer& peer) {
  if (peer.dialling || peer.link() != nullptr || shut_down_) return;
  auto dialled = dialer_.dial(peer.id, peer.attempt);
  if (!dialled) {
    dial_failed(peer, dialled.error());
    return;
  }
  peer.dialling = true;
  dialled->port->add(dialled->link).peer = &peer;
}

void Engine::dial_failed(Peer& peer, const Error& why) {
  peer.dialling = false;
  const bool no_more_addresses = why.code == ErrorCode::not_found;
  if (!no_more_addresses || peer.attempt == 0) peer.last_error = why;
  if (peer.link() != nullptr) {  // another way was found meanwhile
    peer.attempt = 0;
    return;
  }
  if (!no_more_addresses) {
    ++peer.attempt;
    dial(peer);
    return;
  }
  peer.attempt = 0;
  fail_waiting(peer);
}

// Calls that may run again wait for a node that was there before to come back. The others end: they
// have provably not started, and say so.
void Engine::fail_waiting(Peer& peer) {
  const Time now = scheduler_.now();
  if (awaits_news(peer, now)) {
    dialer_.seek(peer.id);
    return dial_again(peer, std::min(now + kNewsPause, peer.news_until));
  }
  peer.queued.clear();
  observer_.on_unreachable(peer.id, peer.last_error);
  std::vector<OutgoingCall*> given_up;
  peer.waiting.for_each([&](OutgoingCall& call) {
    const bool patient = !peer.name.empty() && worth_retrying(call, now, options_.reconnect_window);
    if (!patient) given_up.push_back(&call);
  });
  const std::string text =
      fmt::format("cannot reach {}: {}", peer.describe(), peer.last_error.message);
  for (OutgoingCall* call : given_up) {
    end(*call, {Ending::node_lost, call->lost_once, ErrorCode::unreachable}, bytes_of(text));
  }
  search_.unreachable(peer, peer.last_error);
  if (peer.waiting.empty() || peer.retry_armed) return;
  peer.backoff = std::clamp(peer.backoff * 2, kFirstBackoff, kLastBackoff);
  dial_again(peer, now + peer.backoff);
}

// Nodes hear of each other one by one, so whoever sends a call here may know nodes that this one
// does not know yet. One that is known to be gone is not waited for, nor a client, nor NodeId{}:
// the owner of what has none.
bool Engine::awaits_news(Peer& peer, Time now) {
  const bool may_be_there = peer.name.empty() ? peer.id.value != 0 : peer.serves && !peer.broke;
  const bool unheard_of = may_be_there && !dialer_.knows(peer.id);
  if (unheard_of && peer.news_until.ns == 0) peer.news_until = now + options_.news_window;
  if (unheard_of && now < peer.news_until) return true;
  peer.news_until = {};
  return false;
}

void Engine::dial_again(Peer& peer, Time when) {
  if (std::exchange(peer.retry_armed, true)) return;
  scheduler_.post_at(when, [self = self_, node = peer.id] {
    if (*self == nullptr) return;
    Peer& again = (*self)->peer_of(node);
    again.retry_armed = false;
    (*self)->dial(again);
  });
}

}  // namespace godwit::call
