// Calls that go on at another node. The node that took the call in from its origin, the intake,
// keeps a record of it until it has ended; each link in between only until the next node has it.
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {

void Engine::travel_on(IncomingCall& call) {
  const Continuation continuation = std::move(call.context.continuation);
  wire::TravelExtension travel = call.travel;
  if (travel.hops_left == 0) {
    answer(call, {Ending::rejected, true, ErrorCode::hop_limit},
           bytes_of(fmt::format("the call has made {} hops, the limit: it may be going in circles",
                                options_.max_hops)),
           {});
    return;
  }
  --travel.hops_left;
  if (call.travels) {
    const Time deadline = call.deadline;
    trail_.leave(travel.intake(), continuation.node);
    // First: the call waits for it, and for the message back nobody does.
    send_hop(nullptr, continuation, deadline, travel);
    send_hop_moved(call, bytes_of_value(continuation.node.value));
    release(call);
    return;
  }
  if (call.link == nullptr) return release(call);  // nobody waits for it any more
  call.intake_id = next_intake_id_++;
  call.state = IncomingCall::State::travelling;
  call.body.reset();
  travelling_.emplace(call.intake_id, &call);
  arm_sweep();
  travel.origin_node = call.link->peer->id.value;
  travel.origin_call = call.caller_id;
  travel.intake_node = options_.self.value;
  travel.intake_call = call.intake_id;
  call.whereabouts = continuation.node;
  send_hop(&call, continuation, call.deadline, travel);
}

void Engine::send_hop(IncomingCall* intake, const Continuation& continuation, Time deadline,
                      const wire::TravelExtension& travel) {
  OutgoingCall* hop = outgoing_pool_.acquire();
  if (hop == nullptr) {
    answer_travelled(travel, {Ending::rejected, true, ErrorCode::overload},
                     bytes_of("this node has too many calls outstanding to pass one on"), {});
    return;
  }
  hop->node = continuation.node;
  hop->function = continuation.function;
  hop->deadline = deadline;
  hop->is_hop = true;
  hop->has_travel = true;
  hop->travel = travel;
  hop->rare().spilled_arguments = Buffer::copy_of(continuation.arguments.view());
  hop->parts[0] = hop->rare().spilled_arguments.view();
  hop->part_count = 1;
  hop->user = this;
  hop->on_end = &Engine::hop_ended;
  if (intake != nullptr) intake->hop = hop;
  ++stats_.hops_sent;
  start(*hop);
  OutgoingPool::release(*hop);
}

// Gives the credit of a hop back; `next` is where the call went from here, or nothing.
void Engine::send_hop_moved(IncomingCall& call, Bytes next) {
  if (call.link == nullptr) return;
  const wire::Header header{
      .kind = wire::Kind::hop_moved, .id = call.caller_id, .subject = call.token};
  send_message(*call.link, header, {&next, 1}, {}, nullptr);
}

// The hop was taken over (ok), or is known to have gone no further.
void Engine::hop_ended(OutgoingCall& hop) {
  auto& engine = *static_cast<Engine*>(hop.user);
  if (hop.travel.intake_node == engine.options_.self.value) {
    const auto it = engine.travelling_.find(hop.travel.intake_call);
    if (it != engine.travelling_.end() && it->second->hop == &hop) it->second->hop = nullptr;
  }
  if (hop.outcome.ending == Ending::ok) return;
  engine.answer_travelled(hop.travel, hop.outcome, hop.result, {});
}

void Engine::on_hop_moved(LinkState& link, const wire::Header& header, Bytes body) {
  ++link.credits;
  OutgoingCall* hop = find(header.id);
  if (hop == nullptr || !hop->is_hop) {
    ++stats_.late_replies;
    return;
  }
  if (header.subject != 0 && hop->link == &link) link.set_token(*hop->function, header.subject);
  if (body.size() == sizeof(std::uint64_t) && hop->travel.intake_node == options_.self.value) {
    const auto it = travelling_.find(hop->travel.intake_call);
    if (it != travelling_.end()) {
      std::memcpy(&it->second->whereabouts.value, body.data(), body.size());
    }
  }
  end(*hop, {Ending::ok, true, ErrorCode::none}, {});
  if (!link.peer->waiting.empty()) pump(*link.peer);
}

// To the origin straight, if there is a link; else through the intake. Either way the intake learns
// that the call is over.
void Engine::answer_travelled(const wire::TravelExtension& travel, wire::OutcomeWord outcome,
                              Bytes body, Buffer kept) {
  outcome.may_have_started = true;  // it has run on every node it came through
  wire::Header ended;
  ended.kind = wire::Kind::hop_ended;
  ended.id = travel.intake_call;
  ended.aux = wire::pack(outcome);
  const NodeId intake{travel.intake_node};
  const bool here = intake == options_.self;
  const auto origin = peers_.find(NodeId{travel.origin_node});
  LinkState* direct = !here && origin != peers_.end() ? origin->second->link() : nullptr;
  if (direct != nullptr) {
    wire::Header reply;
    reply.kind = wire::Kind::reply;
    reply.flags = wire::kDirect;
    reply.id = travel.origin_call;
    reply.aux = ended.aux;
    send_message(*direct, reply, {&body, 1}, std::move(kept), nullptr);
    ended.flags = wire::kAnswered;
    send_or_queue(intake, ended, {});
    return;
  }
  if (here) {
    const auto it = travelling_.find(travel.intake_call);
    if (it != travelling_.end()) answer(*it->second, outcome, body, std::move(kept));
    return;
  }
  send_or_queue(intake, ended, kept.empty() ? Buffer::copy_of(body) : std::move(kept));
}

void Engine::on_hop_ended(LinkState& /*link*/, fabric::Message& message) {
  const wire::Header& header = message.header();
  const auto it = travelling_.find(header.id);
  if (it == travelling_.end()) {
    ++stats_.late_replies;
    return;
  }
  IncomingCall& call = *it->second;
  if ((header.flags & wire::kAnswered) != 0) {
    if (call.link != nullptr) {
      wire::Header reply;
      reply.kind = wire::Kind::reply;
      reply.flags = wire::kAnswered;
      if (!call.holds_credit) reply.flags |= wire::kDirect;
      reply.id = call.caller_id;
      reply.subject = call.token;
      reply.aux = header.aux;
      send_message(*call.link, reply, {}, {}, nullptr);
    }
    release(call);
    return;
  }
  if (message.body_discarded()) {
    answer(call, {Ending::rejected, true, ErrorCode::too_large},
           bytes_of("the result is larger than the node that took the call in accepts"), {});
    return;
  }
  Buffer body = message.take_body();
  const Bytes view = body.view();
  answer(call, wire::unpack_outcome(header.aux), view, std::move(body));
}

LinkState* Engine::origin_link(std::uint64_t intake_call) {
  const auto it = travelling_.find(intake_call);
  return it != travelling_.end() ? it->second->link : nullptr;
}

void Engine::cancel_travelling(IncomingCall& call) {
  if (call.hop != nullptr) {
    OutgoingCall& hop = *call.hop;
    call.hop = nullptr;
    hop.on_end = nullptr;
    cancel(hop);
    return;
  }
  const wire::IntakeId intake{options_.self.value, call.intake_id};
  send_or_dial(call.whereabouts, wire::Kind::cancel, bytes_of_value(intake));
}

}  // namespace godwit::call
