// Running functions, and sending their answers.
#include <utility>

#include "base/cycles.hpp"
#include "base/fail.hpp"
#include "base/parts.hpp"
#include "call/code_fetch.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

// How an entry's status and reply read as an outcome. Not for GODWIT_CONTINUE.
wire::OutcomeWord outcome_of(std::int32_t status) {
  switch (status) {
    case GODWIT_OK:
    case GODWIT_ANSWERED: return {Ending::ok, true, ErrorCode::none};
    case GODWIT_BAD_ARGS: return {Ending::rejected, false, ErrorCode::invalid_argument};
    default: break;
  }
  ErrorCode reason = ErrorCode::app_error;
  if (status > GODWIT_FAILED_WITH && status <= GODWIT_FAILED_WITH + 0xFFFF) {
    reason = static_cast<ErrorCode>(status - GODWIT_FAILED_WITH);
  }
  return {Ending::app_error, true, reason};
}

void* reserve_reply(godwit_reply* reply, std::size_t size) noexcept {
  auto* buffer = reinterpret_cast<ReplyBuffer*>(reply);
  if (size <= reply->capacity) return reply->data;
  if (size > buffer->limit) return nullptr;
  Buffer larger = Buffer::allocate(size);
  if (larger.data() == nullptr) return nullptr;
  buffer->spilled = std::move(larger);
  reply->data = buffer->spilled.data();
  reply->capacity = size;
  return reply->data;
}

// For those that go where the lender is not.
void join_lent(ReplyBuffer& reply) {
  Buffer all = Buffer::allocate(total_size(reply.parts));
  if (all.data() != nullptr) {
    gather(reply.parts, all.data());
    reply.reply.data = all.data();
    reply.reply.size = all.size();
    reply.spilled = std::move(all);
  }
  reply.lender.reset();
}

}  // namespace

void ReplyBuffer::prepare(std::size_t limit_bytes) noexcept {
  static_assert(offsetof(ReplyBuffer, reply) == 0, "reserve_reply() goes from the reply to us");
  limit = limit_bytes;
  spilled.reset();
  reply.data = inline_bytes;
  reply.capacity = sizeof inline_bytes;
  reply.size = 0;
  reply.reserve = &reserve_reply;
}

std::byte* ReplyBuffer::make_room(std::size_t size) noexcept {
  reply.size = size;
  return static_cast<std::byte*>(reserve_reply(&reply, size));
}

// The transport may still read all parts when the record has been used again: so what was written
// has to be memory of its own, too.
bool ReplyBuffer::lend(std::span<const Lent> pieces, std::shared_ptr<const void> keeps) {
  if (spilled.empty()) {
    spilled = Buffer::copy_of(view());
    if (spilled.data() == nullptr) return false;
    reply.data = spilled.data();
    reply.capacity = spilled.size();
  }
  parts.clear();
  std::size_t written = 0;
  for (const Lent& piece : pieces) {
    if (piece.after > written) parts.push_back(view().subspan(written, piece.after - written));
    parts.push_back(piece.bytes);
    written = piece.after;
  }
  if (written < view().size()) parts.push_back(view().subspan(written));
  lender = std::move(keeps);
  return true;
}

// In the record that stands by. It is done with when the function returns, unless the call goes on
// somewhere else, or came from somewhere else: then the call keeps the record, and another stands
// by.
void Engine::run_inline(LinkState& link, const wire::Header& header, code::FunctionSlot& slot,
                        Bytes arguments, const std::optional<wire::TravelExtension>& travel) {
  IncomingCall& call = *inline_call_;
  const std::uint64_t token = store_->token_of(slot);
  code::LibraryUse& library = store_->enter(slot);
  wire::TravelExtension limits;
  if (travel) {
    limits = *travel;
  } else {
    limits.hops_left = options_.max_hops;
  }
  call.context.prepare(*this, slot.residence->bundle, {}, std::chrono::milliseconds(header.aux),
                       false, nullptr, limits);
  call.context.caller = &link.peer->id;
  call.reply.prepare(options_.max_result_bytes);

  const std::uint64_t before = cycles();
  const std::int32_t status =
      slot.entry(&call.context.table, arguments.data(), arguments.size(), &call.reply.reply);
  note_overrun(slot, cycles() - before);
  if (!ready_waiters_.empty() && status != GODWIT_AGAIN) [[unlikely]]
    wake_ready();
  const bool hop = limits.intake_node != 0;
  const bool goes_on = status == GODWIT_CONTINUE && call.context.continuation.set;
  if (goes_on || hop || status == GODWIT_AGAIN) [[unlikely]] {
    inline_call_ = &incoming_pool_.acquire();
    call.state = IncomingCall::State::running;
    call.token = token;
    call.library = &library;
    call.status = status;
    take_in(call, link, header, travel);
    if (status == GODWIT_AGAIN) {
      call.body = Buffer::copy_of(arguments);
      call.arguments = call.body.view();
      call.bundle_id = slot.residence->bundle.id();
      call.function = slot.function;
    }
    finished(call);
    return wake_ready();
  }
  if (!watches_.empty()) [[unlikely]]
    look_after(call.context);
  call.context.finish();
  store_->leave(library);
  if (call.reply.lender != nullptr) [[unlikely]]
    return send_lent(link, header.id, token, call.reply, 0);
  send_reply(link, header.id, token, outcome_of(status), call.reply.view(),
             std::move(call.reply.spilled));
}

void Engine::note_overrun(const code::FunctionSlot& slot, std::uint64_t taken) {
  // No machine we run on counts more than a few billion a second, so a small count needs no clock.
  constexpr std::uint64_t kSurelyShort = 20'000;
  if (taken < kSurelyShort) [[likely]]
    return;
  const std::uint64_t now_cycles = cycles();
  const Time now = scheduler_.now();
  const double ns_per_cycle = static_cast<double>((now - clock_origin_).count()) /
                              static_cast<double>(now_cycles - cycle_origin_);
  const Duration took(static_cast<std::int64_t>(static_cast<double>(taken) * ns_per_cycle));
  if (took < options_.inline_overrun) return;
  ++stats_.overruns;
  observer_.on_overrun(slot.residence->bundle, slot.function, took);
}

void Engine::run_on_executor(Executor::Job& job) {
  auto& call = static_cast<IncomingCall&>(job);
  Engine& engine = *call.context.engine;
  const Time now = engine.scheduler_.now();
  // A hop goes on although the link it came on broke: its origin is elsewhere.
  const bool given_up = call.cancelled.load(std::memory_order_relaxed) && !call.travels;
  if (given_up || call.deadline < now) {
    call.skipped = true;
    engine.post(call.finished);
    return;
  }
  call.began_ns.store(now.ns, std::memory_order_relaxed);
  call.status = call.entry(&call.context.table, call.arguments.data(), call.arguments_reach(),
                           &call.reply.reply);
  engine.post(call.finished);
}

void Engine::deliver_finished(Engine& engine, Posted& posted) {
  auto& call = *static_cast<IncomingCall*>(posted.owner);
  engine.running_.remove(call);
  if (call.overdue) engine.overdue_ended(call);
  engine.finished(call);
}

void Engine::finished(IncomingCall& call) {
  if (!watches_.empty()) look_after(call.context);
  call.context.finish();
  store_->leave(*call.library);
  call.library = nullptr;
  if (call.status != GODWIT_AGAIN) call.found.clear();
  if (call.skipped) {
    const bool late = call.deadline < scheduler_.now();
    answer(call,
           late ? wire::OutcomeWord{Ending::deadline, false, ErrorCode::deadline}
                : wire::OutcomeWord{Ending::cancelled, false, ErrorCode::cancelled},
           bytes_of(late ? "the deadline passed while the call waited for a worker"
                         : "cancelled while it waited for a worker"),
           {});
    return;
  }
  if (call.status == GODWIT_AGAIN) return hold_back(call);
  if (call.status == GODWIT_CONTINUE) {
    if (call.context.continuation.set) return travel_on(call);
    answer(call, {Ending::app_error, true, ErrorCode::app_error},
           bytes_of("the function asked to continue, but did not say where"), {});
    return;
  }
  if (call.reply.lender != nullptr && !call.travels && call.link != nullptr) {
    send_lent(*call.link, call.caller_id, call.token, call.reply,
              call.holds_credit ? std::uint8_t{0} : wire::kDirect);
    return release(call);
  }
  if (call.reply.lender != nullptr) join_lent(call.reply);
  answer(call, outcome_of(call.status), call.reply.view(), std::move(call.reply.spilled));
}

void Engine::answer(IncomingCall& call, wire::OutcomeWord outcome, Bytes body, Buffer kept) {
  if (call.fetch != nullptr)
    return fetch_failed(call, {outcome.reason, std::string(text_of(body))});
  if (call.travels) {
    const wire::TravelExtension travel = call.travel;
    answer_travelled(travel, outcome, body, std::move(kept));
    send_hop_moved(call, {});
  } else if (call.link != nullptr) {
    send_reply(*call.link, call.caller_id, call.token, outcome, body, std::move(kept),
               call.holds_credit ? std::uint8_t{0} : wire::kDirect);
  }
  release(call);
}

void Engine::send_reply(LinkState& link, std::uint64_t caller_id, std::uint64_t token,
                        wire::OutcomeWord outcome, Bytes body, Buffer kept, std::uint8_t flags) {
  wire::Header header;
  header.kind = wire::Kind::reply;
  header.flags = flags;
  header.id = caller_id;
  header.subject = token;
  header.aux = wire::pack(outcome);
  // A body that is neither small nor ours to keep (an inline buffer) always fits `now`.
  send_message(link, header, {&body, 1}, std::move(kept), nullptr);
}

// A result of which parts lie in memory of somebody else's.
void Engine::send_lent(LinkState& link, std::uint64_t caller_id, std::uint64_t token,
                       ReplyBuffer& reply, std::uint8_t flags) {
  wire::Header header;
  header.kind = wire::Kind::reply;
  header.flags = flags;
  header.id = caller_id;
  header.subject = token;
  header.aux = wire::pack({Ending::ok, true, ErrorCode::none});
  send_message(link, header, reply.parts, std::move(reply.spilled), std::move(reply.lender));
  reply.lender.reset();
}

void Engine::take_off(LinkState& link, IncomingCall& call) {
  if (call.waits_long) [[unlikely]] {
    link.waiting_long.erase(call.caller_id);
  } else {
    link.incoming.remove(call);
  }
}

void Engine::release(IncomingCall& call) {
  search_.remove(call);
  watches_.remove(call);
  stop_waiting(call);
  LinkState* link = call.link;
  if (link != nullptr) {
    take_off(*link, call);
    --link->incoming_count;
    if (!call.holds_credit) --link->without_credit;
  }
  if (call.fetch != nullptr) end_fetch(*call.fetch);
  if (call.intake_id != 0) travelling_.erase(call.intake_id);
  incoming_pool_.release(call);
  if (link != nullptr && link->leaving) farewell(*link);
}

}  // namespace godwit::call
