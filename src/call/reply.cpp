// Answers arriving, and calls ending.
#include <utility>

#include "base/copy_fresh.hpp"
#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

constexpr std::uint64_t kIndexMask = OutgoingPool::kMaxCalls - 1;

// Whether a result may take the place of the arguments.
bool fits(const OutgoingCall& call, Bytes text) {
  return text.size() <= call.inline_bytes.size() && !call.borrowed;
}

void keep_large(OutgoingCall& call, Buffer text) {
  Buffer& kept = call.rare().large_result;
  kept = std::move(text);
  call.result = kept.view();
}

// Keeps a result, or a failure's words, with the call.
void keep_text(OutgoingCall& call, Bytes text) {
  if (!fits(call, text)) return keep_large(call, Buffer::copy_of(text));
  copy_fresh(call.inline_bytes.data(), text.data(), text.size());
  call.result = {call.inline_bytes.data(), text.size()};
}

}  // namespace

void Engine::on_message(LinkState& link, fabric::Message& message) {
  if (message.header().kind == wire::Kind::bye) return on_bye(link, message.header());
  ++link.traffic.received;
  dispatch(link, message);
  if (link.leaving) [[unlikely]]
    farewell(link);
}

void Engine::dispatch(LinkState& link, fabric::Message& message) {
  const wire::Header& header = message.header();
  switch (header.kind) {
    case wire::Kind::call: return on_call(link, message);
    case wire::Kind::reply: return on_reply(link, message);
    case wire::Kind::cancel: return on_cancel(link, header, message.body());
    case wire::Kind::need_code: return on_need_code(link, header, message.body());
    case wire::Kind::code: return on_code_message(link, message);
    case wire::Kind::have_code: return on_have_code(link, message.body());
    case wire::Kind::hop_moved: return on_hop_moved(link, header, message.body());
    case wire::Kind::hop_ended: return on_hop_ended(link, message);
    case wire::Kind::ask_status: return on_ask_status(link, header);
    default: observer_.on_other(link.peer->id, header, message.body());
  }
}

OutgoingCall* Engine::find(std::uint64_t id) {
  const std::uint64_t index = id & kIndexMask;
  if (index >= live_.size()) return nullptr;
  OutgoingCall* call = live_[index];
  return call != nullptr && call->id == id ? call : nullptr;
}

void Engine::on_reply(LinkState& link, fabric::Message& message) {
  const wire::Header& header = message.header();
  if ((header.flags & wire::kDirect) == 0) ++link.credits;
  OutgoingCall* call = find(header.id);
  if (call == nullptr) {
    ++stats_.late_replies;
    if (!link.peer->waiting.empty()) pump(*link.peer);
    return;
  }
  const FunctionRef& function = *call->function;
  if (call->link == &link && header.subject != 0) link.set_token(function, header.subject);
  if ((header.flags & wire::kAnswered) != 0) {  // the answer itself comes apart
    if (!link.peer->waiting.empty()) pump(*link.peer);
    return;
  }

  const wire::OutcomeWord outcome = wire::unpack_outcome(header.aux);
  // A call that ran here and lost its code further on ends for the same reason, but has started.
  const bool stale_token = outcome.ending == Ending::rejected && !outcome.may_have_started &&
                           outcome.reason == ErrorCode::unknown_code && call->sent_by_token &&
                           call->link == &link;
  if (stale_token) {  // the node evicted the code since: name it in full
    link.set_token(function, 0);
    take_off(link, *call);
    send_call(link, *call);
    return;
  }
  if (message.body_discarded()) {
    end(*call, {Ending::rejected, true, ErrorCode::too_large},
        bytes_of("the result is larger than this process accepts"));
    return;
  }
  call->outcome = outcome;
  // What the node says is true of the attempt it saw; an earlier one may have run.
  if (call->lost_once) call->outcome.may_have_started = true;
  if (fits(*call, message.body())) [[likely]] {
    keep_text(*call, message.body());
  } else {
    keep_large(*call, message.take_body());
  }
  finish_call(*call);
  if (!link.peer->waiting.empty()) pump(*link.peer);
}

void Engine::end(OutgoingCall& call, wire::OutcomeWord outcome, Bytes text) {
  call.outcome = outcome;
  keep_text(call, text);
  finish_call(call);
}

void Engine::finish_call(OutgoingCall& call) {
  wheel_.remove(call);
  detach(call);
  live_[call.index] = nullptr;
  call.state = OutgoingCall::State::ended;
  ++stats_.calls_ended;
  if (call.borrowed) return hurry_transport(call);
  if (call.on_end != nullptr) call.on_end(call);
  OutgoingPool::release(call);
}

// The call has ended, but a slow link still reads its arguments. The caller gets them back when the
// link is done with them, at the latest when the link is given up.
void Engine::hurry_transport(OutgoingCall& call) {
  constexpr auto kGrace = std::chrono::seconds(2);
  for (const auto& [tag, kept] : kept_) {
    if (kept.call != &call) continue;
    scheduler_.post_at(scheduler_.now() + kGrace, [self = self_, slow = tag] {
      if (*self == nullptr) return;
      const auto it = (*self)->kept_.find(slow);
      if (it == (*self)->kept_.end()) return;
      LinkState& link = *it->second.link;
      link.port->transport().close(link.id);
    });
  }
}

void Engine::let_go(Kept& kept) {
  OutgoingCall* call = std::exchange(kept.call, nullptr);
  if (call == nullptr) return;
  call->borrowed = false;
  if (call->state == OutgoingCall::State::ended) {
    if (call->on_end != nullptr) call->on_end(*call);
    OutgoingPool::release(*call);  // the engine's reference, kept since finish_call()
  }
  OutgoingPool::release(*call);
}

void Engine::detach(OutgoingCall& call) {
  if (LinkState* link = call.link; link != nullptr) [[likely]] {
    take_off(*link, call);
    if (link->leaving) [[unlikely]]
      farewell(*link);
  } else if (static_cast<ListHook<OutgoingTag>&>(call).linked()) {
    peer_of(call.node).waiting.remove(call);
  }
}

void Engine::take_off(LinkState& link, OutgoingCall& call) {
  --link.outgoing_count;
  call.link = nullptr;
}

}  // namespace godwit::call
