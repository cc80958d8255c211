#include "call/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/cycles.hpp"
#include "base/fail.hpp"
#include "base/random.hpp"

namespace godwit::call {

Engine::Engine(Scheduler& scheduler, Dialer& dialer, FunctionTable& functions, code::Store* store,
               Executor* executor, EngineObserver& observer, Options options)
    : scheduler_(scheduler),
      dialer_(dialer),
      functions_(functions),
      store_(store),
      executor_(executor),
      observer_(observer),
      options_(std::move(options)),
      next_sequence_(mix64(options_.self.value ^ mix64(options_.epoch.value)) >> 22),
      wheel_(scheduler.now()),
      inline_call_(&incoming_pool_.acquire()),
      search_(scheduler, *this, options_.self),
      next_intake_id_(mix64(next_sequence_)),
      clock_origin_(scheduler.now()),
      cycle_origin_(cycles()),
      nodes_(std::make_shared<const std::vector<VisibleNode>>()),
      self_(std::make_shared<Engine*>(this)) {
  if (store_ != nullptr) store_->set_events(this);
}

Engine::~Engine() {
  if (store_ != nullptr) store_->set_events(nullptr);
  *self_ = nullptr;
}

Port& Engine::add_port(std::string name) {
  ports_.push_back(std::make_unique<Port>(*this, std::move(name)));
  return *ports_.back();
}

wire::PeerHello Engine::hello() const {
  wire::PeerHello hello;
  hello.credits = options_.credits;
  hello.serves = store_ != nullptr;
  hello.name = options_.name;
  return hello;
}

void Engine::post(Posted& posted) {
  if (!inbox_.push(posted)) return;  // whoever found it empty has rung
  scheduler_.post([self = self_] {
    if (*self != nullptr) (*self)->drain_inbox();
  });
}

void Engine::drain_inbox() {
  inbox_.drain([this](Posted& posted) { posted.deliver(*this, posted); });
}

void Engine::shut_down() {
  drain_inbox();  // first: the last thing a process says is often posted as it ends
  shut_down_ = true;
  for (OutgoingCall*& slot : live_) {
    if (slot == nullptr) continue;
    const bool started = slot->state == OutgoingCall::State::sent;
    end(*slot, {Ending::node_lost, started, ErrorCode::shutting_down},
        bytes_of("this process is shutting down"));
  }
  for (const auto& port : ports_) {
    for (const auto& [id, link] : port->links_) port->transport().close(id);
  }
}

void Engine::set_nodes(VisibleNodes nodes) {
  const std::lock_guard lock(nodes_mutex_);
  nodes_ = std::move(nodes);
}

VisibleNodes Engine::nodes() const {
  const std::lock_guard lock(nodes_mutex_);
  return nodes_;
}

void Engine::send_or_dial(NodeId to, wire::Kind kind, Bytes body) {
  send_or_dial(to, wire::Header{.kind = kind}, body);
}

void Engine::send_or_dial(NodeId to, const wire::Header& header, Bytes body) {
  send_or_queue(to, header, Buffer::copy_of(body));
}

void Engine::connect(NodeId node) {
  dial(peer_of(node));
}

bool Engine::is_linked(NodeId node) const {
  const auto peer = peers_.find(node);
  return peer != peers_.end() && peer->second->link() != nullptr;
}

std::size_t Engine::links_up() const {
  std::size_t count = 0;
  for (const auto& port : ports_) {
    for (const auto& [id, link] : port->links_) count += link->up ? 1 : 0;
  }
  return count;
}

void Engine::send_message(LinkState& link, const wire::Header& header, std::span<const Bytes> parts,
                          Buffer kept, std::shared_ptr<const void> kept_object) {
  const std::uint64_t tag = next_tag_++;
  const fabric::Sent sent = link.port->transport().send(link.id, header, parts, tag);
  ++link.traffic.sent;
  if (sent == fabric::Sent::later) {
    ++link.borrowed;
    kept_.emplace(tag, Kept{std::move(kept), std::move(kept_object), nullptr, &link});
  }
}

void Engine::on_sent(std::uint64_t tag) {
  const auto it = kept_.find(tag);
  if (it == kept_.end()) return;
  Kept kept = std::move(it->second);
  kept_.erase(it);
  --kept.link->borrowed;
  let_go(kept);
  if (kept.link->leaving) farewell(*kept.link);
}

void Engine::send_or_queue(NodeId to, const wire::Header& header, Buffer body) {
  Peer& peer = peer_of(to);
  if (LinkState* link = peer.link(); link != nullptr) {
    const Bytes view = body.view();
    send_message(*link, header, {&view, 1}, std::move(body), nullptr);
    return;
  }
  if (peer.queued.size() >= Peer::kMaxQueued) return;
  peer.queued.push_back({header, std::move(body)});
  dial(peer);
}

void Engine::arm_sweep() {
  if (sweep_armed_) return;
  sweep_armed_ = true;
  scheduler_.post_at(scheduler_.now() + std::chrono::seconds(1), [self = self_] {
    if (*self != nullptr) (*self)->sweep();
  });
}

void Engine::sweep() {
  sweep_armed_ = false;
  const Time now = scheduler_.now();
  // A travelling call's own caller gives up by itself; the grace lets a late answer still pass.
  constexpr auto kGrace = std::chrono::seconds(5);
  std::vector<IncomingCall*> late;
  for (const auto& [id, call] : travelling_) {
    if (call->deadline + kGrace < now) late.push_back(call);
  }
  for (IncomingCall* call : late) {
    answer(*call, {Ending::deadline, true, ErrorCode::deadline},
           bytes_of("the call was travelling when its deadline passed"), {});
  }
  look_for_overdue(now);
  if (!travelling_.empty() || !running_.empty()) arm_sweep();
}

}  // namespace godwit::call
