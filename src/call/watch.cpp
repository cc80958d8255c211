// Calls that begin when an element of a region changes: held back, without a worker, until then.
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

constexpr std::uint32_t kTicksPerSecond = std::chrono::seconds(1) / Watches::kPeriod;

}  // namespace

// True: it is to begin now. False: it waits, or has been refused.
bool Engine::has_changed(IncomingCall& call, const code::FunctionSlot& slot) {
  const auto refuse = [&](const Error& why) {
    answer(call, {Ending::rejected, false, why.code}, bytes_of(why.message), {});
    return false;
  };
  if (regions_ == nullptr) return refuse({ErrorCode::unsupported, "this node has no regions"});
  if (call.arguments.size() < call.change.element_size ||
      call.change.value_at > call.arguments.size() - call.change.element_size) {
    return refuse({ErrorCode::protocol_violation,
                   "the arguments have no room for the element where the call says"});
  }
  if (call.arguments.size() > kMaxKeptArgumentBytes) {
    return refuse({ErrorCode::too_large,
                   fmt::format("{} bytes of arguments for a call that may wait; the limit is {}",
                               call.arguments.size(), kMaxKeptArgumentBytes)});
  }
  const auto changed = watches_.add(*regions_, call);
  if (!changed) return refuse(changed.error());
  if (*changed) {
    tell_change(call, **changed);
    return true;
  }
  call.state = IncomingCall::State::watching;
  call.bundle_id = slot.residence->bundle.id();  // the slot may be gone by then
  call.function = slot.function;
  give_credit_back(call, store_->token_of(slot));
  arm_watch_timer();
  return false;
}

// A watch may last for long, and others wait for the credit: the caller gets it back at once, with
// the promise of an answer that does not count. A hop has another way of counting, and keeps its.
void Engine::give_credit_back(IncomingCall& call, std::uint64_t token) {
  if (call.travels || !call.holds_credit) return;
  // A peer that gives two calls one id could cancel only one of them: the other keeps its credit.
  if (!call.link->waiting_long.emplace(call.caller_id, &call).second) return;
  call.link->incoming.remove(call);
  call.waits_long = true;
  call.holds_credit = false;
  ++call.link->without_credit;
  wire::Header header;
  header.kind = wire::Kind::reply;
  header.flags = wire::kAnswered;
  header.id = call.caller_id;
  header.subject = token;
  header.aux = wire::pack({Ending::ok, false, ErrorCode::none});
  send_message(*call.link, header, {}, {}, nullptr);
}

void Engine::tell_change(IncomingCall& call, std::uint64_t bits) {
  const std::size_t at = call.body.size() - call.arguments.size() + call.change.value_at;
  std::memcpy(call.body.mutable_view().data() + at, &bits, call.change.element_size);
  call.awaits_change = false;
}

// A function has returned that may have written to regions.
void Engine::look_after(const CallContext& context) {
  if (context.written_region == 0) return;
  const bool some =
      context.wrote_several ? watches_.touch_all() : watches_.touch(context.written_region);
  if (some) look_soon();
}

void Engine::look_soon() {
  if (std::exchange(look_posted_, true)) return;
  scheduler_.post([self = self_] {
    if (*self != nullptr) (*self)->look_at_watched();
  });
}

void Engine::look_at_watched() {
  look_posted_ = false;
  for (const Watches::Changed& changed : watches_.look()) {
    tell_change(*changed.call, changed.bits);
    changed.call->state = IncomingCall::State::parked;
    park(*changed.call);
  }
  if (watches_.has_touched()) look_soon();
}

void Engine::arm_watch_timer() {
  if (std::exchange(watch_timer_armed_, true)) return;
  scheduler_.post_at(scheduler_.now() + Watches::kPeriod, [self = self_] {
    if (*self != nullptr) (*self)->watch_tick();
  });
}

void Engine::watch_tick() {
  watch_timer_armed_ = false;
  for (const Watches::Ended& lost : watches_.end_lost(*regions_)) {
    answer(*lost.call, {Ending::rejected, false, lost.why.code}, bytes_of(lost.why.message), {});
  }
  if (++watch_ticks_ % kTicksPerSecond == 0) {
    for (const Watches::Ended& late : watches_.end_late(scheduler_.now())) {
      answer(*late.call, {Ending::deadline, false, late.why.code}, bytes_of(late.why.message), {});
    }
  }
  if (watches_.touch_all()) {
    look_soon();
    arm_watch_timer();
  }
}

}  // namespace godwit::call
