// Taking a call: finding its code, or parking it until the code is here.
#include <utility>

#include "base/cycles.hpp"
#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

constexpr std::size_t kArgumentAlignment = 16;

bool aligned(Bytes bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % kArgumentAlignment == 0;
}

}  // namespace

void Engine::on_call(LinkState& link, fabric::Message& message) {
  const wire::Header& header = message.header();
  ++stats_.calls_taken;
  const auto reject = [&](ErrorCode reason, std::string_view text) {
    send_reply(link, header.id, 0, {Ending::rejected, false, reason}, bytes_of(text), {});
  };
  if (store_ == nullptr) return reject(ErrorCode::unsupported, "this process takes no calls");
  if (message.body_discarded()) {
    return reject(ErrorCode::too_large, "the arguments are larger than this node accepts");
  }
  const Bytes body = message.body();
  if (header.extension_size > body.size()) {
    ++stats_.protocol_errors;
    return reject(ErrorCode::protocol_violation, "the call's extension is longer than its message");
  }
  wire::CallExtensions named;
  if (header.extension_size > 0) {
    auto parsed = wire::parse_call_extensions(body.first(header.extension_size));
    if (!parsed) {
      ++stats_.protocol_errors;
      return reject(parsed.error().code, parsed.error().message);
    }
    named = *std::move(parsed);
  }
  code::FunctionSlot* slot = header.subject != 0 ? store_->find(header.subject) : nullptr;
  if (slot == nullptr && named.code) {
    if (auto found = store_->function(named.code->bundle, named.code->function)) slot = *found;
  }
  const Bytes arguments = body.subspan(header.extension_size);
  if (slot != nullptr && slot->is_inline() && aligned(arguments) && !named.change &&
      named.objects.empty()) [[likely]] {
    run_inline(link, header, *slot, arguments, named.travel);
    return;
  }
  accept_slowly(link, message, named, slot);
}

void Engine::accept_slowly(LinkState& link, fabric::Message& message,
                           const wire::CallExtensions& named, code::FunctionSlot* slot) {
  const wire::Header& header = message.header();
  const auto reject = [&](ErrorCode reason, std::string_view text) {
    send_reply(link, header.id, 0, {Ending::rejected, false, reason}, bytes_of(text), {});
  };
  if (link.incoming_count - link.without_credit >= options_.credits) {
    ++stats_.credits_violated;
    return reject(ErrorCode::overload, "more calls outstanding on this link than it was granted");
  }
  if (slot == nullptr && !named.code) {
    return reject(ErrorCode::unknown_code, "the function's token is stale: name it in full");
  }
  Buffer body = message.take_body();
  if (body.data() == nullptr && !message.body().empty()) {
    return reject(ErrorCode::resource_exhausted, "this node is out of memory for arguments");
  }
  if (!aligned(body.view())) body = Buffer::copy_of(body.view());

  IncomingCall& call = incoming_pool_.acquire();
  call.state = IncomingCall::State::parked;
  call.body = std::move(body);
  call.arguments = call.body.view().subspan(header.extension_size);
  take_in(call, link, header, named.travel);
  if (named.change) {
    call.awaits_change = true;
    call.change = *named.change;
  }
  call.objects = named.objects;
  call.awaits_objects = !call.objects.empty();
  if (slot != nullptr) {
    begin(call, *slot);
    return;
  }
  call.bundle_id = named.code->bundle;
  call.function = named.code->function;
  park(call);
}

// From here on the call is outstanding on its link.
void Engine::take_in(IncomingCall& call, LinkState& link, const wire::Header& header,
                     const std::optional<wire::TravelExtension>& travel) {
  call.link = &link;
  call.caller = link.peer->id;
  call.caller_id = header.id;
  call.deadline = scheduler_.now() + std::chrono::milliseconds(header.aux);
  call.travel = travel.value_or(wire::TravelExtension{.hops_left = options_.max_hops});
  call.travels = call.travel.intake_node != 0;
  link.incoming.push_back(call);
  ++link.incoming_count;
}

void Engine::park(IncomingCall& call) {
  const code::Residence* residence = store_->residence(call.bundle_id);
  if (residence != nullptr && residence->state == code::Residence::State::ready) {
    auto slot = store_->function(call.bundle_id, call.function);
    if (slot) {
      begin(call, **slot);
    } else {
      answer(call, {Ending::rejected, call.has_waited, slot.error().code},
             bytes_of(slot.error().message), {});
    }
    return;
  }
  if (residence != nullptr && residence->state == code::Residence::State::failed) {
    const Error error = residence->error;
    answer(call, {Ending::rejected, call.has_waited, error.code}, bytes_of(error.message), {});
    return;
  }
  search_.park(call);
  if (residence == nullptr) search_.want(call.bundle_id);
}

void Engine::end_parked(IncomingCall& call, Ending ending, const Error& why) {
  answer(call, {ending, call.has_waited, why.code}, bytes_of(why.message), {});
}

// The store has loaded a bundle, or failed to.
void Engine::on_code(const ContentId& bundle, const Status& status) {
  if (!status) {
    search_.give_up(bundle, status.error());
    return;
  }
  for (IncomingCall* call : search_.take(bundle)) park(*call);
}

void Engine::begin(IncomingCall& call, code::FunctionSlot& slot) {
  if (call.fetch != nullptr) return fetched(call, slot.residence->bundle);
  if (call.deadline < scheduler_.now()) {
    answer(call, {Ending::deadline, call.has_waited, ErrorCode::deadline},
           bytes_of(call.has_waited ? "the deadline passed before the function ran again"
                                    : "the deadline passed before the function began"),
           {});
    return;
  }
  if (call.awaits_change && !has_changed(call, slot)) return;
  if (call.awaits_objects && !has_objects(call, slot)) return;
  call.state = IncomingCall::State::running;
  call.bundle = slot.residence->bundle;
  call.bundle_id = call.bundle.id();
  call.function = slot.function;
  call.token = store_->token_of(slot);
  call.entry = slot.entry;
  call.library = &store_->enter(slot);
  call.context.prepare(*this, call.bundle, call.deadline, {}, !slot.is_inline(), &call.cancelled,
                       call.travel);
  call.context.call = &call;
  call.context.caller = &call.caller;
  call.context.has_waited = call.has_waited;
  call.reply.prepare(options_.max_result_bytes);
  call.run = &Engine::run_on_executor;
  call.finished.deliver = &Engine::deliver_finished;
  call.finished.owner = &call;
  if (slot.is_inline()) {
    const std::uint64_t before = cycles();
    call.status = call.entry(&call.context.table, call.arguments.data(), call.arguments_reach(),
                             &call.reply.reply);
    note_overrun(slot, cycles() - before);
    if (call.status != GODWIT_AGAIN) wake_ready();
    finished(call);
    return wake_ready();
  }
  running_.push_back(call);
  arm_sweep();
  if (!executor_->submit(call)) {
    running_.remove(call);
    store_->leave(*call.library);
    answer(call, {Ending::rejected, false, ErrorCode::overload},
           bytes_of("this node's queue of calls is full"), {});
  }
}

void Engine::on_cancel(LinkState& link, const wire::Header& header, Bytes body) {
  IncomingCall* found = nullptr;
  if (body.empty()) {
    const auto waiting = link.waiting_long.find(header.id);
    if (waiting != link.waiting_long.end()) {
      found = waiting->second;
    } else {
      link.incoming.for_each([&](IncomingCall& call) {
        if (call.caller_id == header.id) found = &call;
      });
    }
  } else {  // a travelling call, named by its intake
    wire::IntakeId intake;
    if (body.size() != sizeof intake) return;
    std::memcpy(&intake, body.data(), body.size());
    for (const auto& port : ports_) {
      for (const auto& [id, state] : port->links_) {
        state->incoming.for_each([&](IncomingCall& call) {
          if (call.travels && call.travel.intake() == intake) found = &call;
        });
      }
    }
    if (found == nullptr) {
      const NodeId next = trail_.follow(intake);
      if (next) send_or_dial(next, wire::Kind::cancel, body);
      return;
    }
  }
  if (found == nullptr) return;
  found->cancelled.store(true, std::memory_order_relaxed);
  if (found->state == IncomingCall::State::parked) {
    answer(*found, {Ending::cancelled, found->has_waited, ErrorCode::cancelled},
           bytes_of("cancelled while it waited for its code"), {});
  } else if (found->state == IncomingCall::State::watching) {
    answer(*found, {Ending::cancelled, false, ErrorCode::cancelled},
           bytes_of("cancelled while it waited for the element to change"), {});
  } else if (found->state == IncomingCall::State::waiting) {
    answer(*found, {Ending::cancelled, !found->awaits_objects, ErrorCode::cancelled},
           bytes_of("cancelled while it waited"), {});
  } else if (found->state == IncomingCall::State::travelling) {
    cancel_travelling(*found);
  }
}

}  // namespace godwit::call
