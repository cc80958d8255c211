// Making a call: from the caller's request to the message on the link.
#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

constexpr unsigned kIndexBits = 20;
static_assert(OutgoingPool::kMaxCalls == std::size_t{1} << kIndexBits);

// Rounded up, so that a call with time left never travels with none.
std::uint32_t whole_ms(Duration left) {
  const auto left_ns = std::max<std::int64_t>(left.count(), 0);
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>((left_ns + 999'999) / 1'000'000, UINT32_MAX));
}

}  // namespace

void Engine::start(OutgoingCall& call) {
  OutgoingPool::add_reference(call);
  if (call.index >= live_.size()) live_.resize(call.index + 64, nullptr);
  live_[call.index] = &call;
  call.id = (next_sequence_++ << kIndexBits) | call.index;
  call.state = OutgoingCall::State::waiting;
  ++stats_.calls_started;
  wheel_.add(call);
  if (const Time due = DeadlineWheel::due_tick(call.deadline);
      !wheel_armed_ || due < wheel_armed_until_) {
    wheel_armed_until_ = due;
    arm_deadlines();
  }
  if (shut_down_) {
    end(call, {Ending::rejected, false, ErrorCode::shutting_down},
        bytes_of("this process is shutting down"));
    return;
  }
  Peer& peer = peer_of(call.node);
  if (LinkState* link = peer.link(); link != nullptr && link->credits > 0 && peer.waiting.empty()) {
    send_call(*link, call);
  } else {
    wait_for_link(peer, call);
  }
}

void Engine::start_later(OutgoingCall& call) {
  OutgoingPool::add_reference(call);
  call.start_post.owner = &call;
  call.start_post.deliver = [](Engine& engine, Posted& posted) {
    auto& posted_call = *static_cast<OutgoingCall*>(posted.owner);
    engine.start(posted_call);
    // A cancel that found the reactor free has overtaken this.
    if (posted_call.cancelling.load(std::memory_order_relaxed)) engine.cancel(posted_call);
    OutgoingPool::release(posted_call);
  };
  post(call.start_post);
}

void Engine::cancel_later(OutgoingCall& call) {
  OutgoingPool::add_reference(call);
  call.cancel_post.owner = &call;
  call.cancel_post.deliver = [](Engine& engine, Posted& posted) {
    auto& posted_call = *static_cast<OutgoingCall*>(posted.owner);
    engine.cancel(posted_call);
    OutgoingPool::release(posted_call);
  };
  post(call.cancel_post);
}

void Engine::wait_for_link(Peer& peer, OutgoingCall& call) {
  call.time_left = {};  // from here on time passes
  if (peer.waiting.size() >= options_.max_waiting) {
    end(call, {Ending::rejected, false, ErrorCode::overload},
        bytes_of(fmt::format("{} calls wait for {} already; let some of them end first",
                             peer.waiting.size(), peer.describe())));
    return;
  }
  call.state = OutgoingCall::State::waiting;
  peer.waiting.push_back(call);
  if (peer.link() == nullptr) dial(peer);
}

void Engine::pump(Peer& peer) {
  while (!peer.waiting.empty()) {
    LinkState* link = peer.link();
    if (link == nullptr) {
      dial(peer);
      return;
    }
    if (link->credits == 0) return;
    send_call(*link, peer.waiting.pop_front());
  }
}

void Engine::send_call(LinkState& link, OutgoingCall& call) {
  const FunctionRef& function = *call.function;
  const std::uint64_t token = link.token_of(function);

  wire::Header header;
  header.kind = wire::Kind::call;
  header.flags = function.idempotent ? wire::kIdempotent : std::uint8_t{0};
  header.id = call.id;
  header.subject = token;
  const Duration fresh = std::exchange(call.time_left, {});
  header.aux = whole_ms(fresh.count() != 0 ? fresh : call.deadline - scheduler_.now());

  --link.credits;
  call.state = OutgoingCall::State::sent;
  call.sent_by_token = token != 0;
  call.link = &link;
  ++link.outgoing_count;
  if (token != 0 && !call.has_travel && !call.has_change && !call.has_objects) [[likely]] {
    send_parts(link, call, header, {call.parts.data(), call.part_count}, {});
  } else {
    send_named(link, call, header);
  }
}

// With the extensions that name the function, or say how the call travels, when it begins, or what
// stands for its arguments.
void Engine::send_named(LinkState& link, OutgoingCall& call, wire::Header header) {
  wire::ExtensionWriter extension;
  if (!call.sent_by_token) {
    wire::CodeExtension code;
    code.function = call.function->function;
    code.bundle = call.function->bundle;
    extension.add(code);
  }
  if (call.has_travel) extension.add(call.travel);
  if (call.has_change) extension.add(call.change);
  if (call.has_objects) {
    for (const wire::ObjectExtension& object : call.rare().objects) extension.add(object);
  }
  header.extension_size = static_cast<std::uint16_t>(extension.view().size());

  std::array<Bytes, OutgoingCall::kMaxParts + 1> parts{extension.view()};
  std::size_t bytes = parts[0].size();
  for (std::size_t i = 0; i < call.part_count; ++i) {
    parts[i + 1] = call.parts[i];
    bytes += call.parts[i].size();
  }
  // Borrowed parts must outlive the stack; a large message therefore brings its extension along.
  Buffer kept_extension;
  if (bytes > link.port->transport().small_limit()) {
    kept_extension = Buffer::copy_of(extension.view());
    parts[0] = kept_extension.view();
  }
  send_parts(link, call, header, {parts.data(), call.part_count + 1}, std::move(kept_extension));
}

void Engine::send_parts(LinkState& link, OutgoingCall& call, const wire::Header& header,
                        std::span<const Bytes> parts, Buffer kept_extension) {
  ++link.traffic.sent;
  const std::uint64_t tag = next_tag_++;
  switch (link.port->transport().send(link.id, header, parts, tag)) {
    case fabric::Sent::now: break;
    case fabric::Sent::later:
      OutgoingPool::add_reference(call);
      call.borrowed = true;
      ++link.borrowed;
      kept_.emplace(tag, Kept{std::move(kept_extension), nullptr, &call, &link});
      break;
    case fabric::Sent::down: {
      // on_down is on its way, but this call has certainly not left: it may take the next link.
      take_off(link, call);
      link.up = false;
      std::erase(link.peer->links, &link);
      wait_for_link(*link.peer, call);
      break;
    }
  }
}

void Engine::cancel(OutgoingCall& call) {
  if (call.index >= live_.size() || live_[call.index] != &call) return;
  const bool sent = tell_node_to_stop(call);
  end(call, {Ending::cancelled, sent || call.lost_once, ErrorCode::cancelled},
      bytes_of("the caller cancelled the call"));
}

// False if the call has not been sent to any.
bool Engine::tell_node_to_stop(OutgoingCall& call) {
  if (call.state != OutgoingCall::State::sent) return false;
  if (call.link != nullptr && call.link->up) {
    send_message(*call.link, {.kind = wire::Kind::cancel, .id = call.id}, {}, {}, nullptr);
  }
  return true;
}

void Engine::arm_deadlines() {
  if (wheel_armed_) scheduler_.cancel(wheel_timer_);
  wheel_armed_ = true;
  wheel_timer_ = scheduler_.post_at(wheel_armed_until_, [self = self_] {
    if (*self != nullptr) (*self)->deadlines_due();
  });
}

void Engine::deadlines_due() {
  const Time now = scheduler_.now();
  wheel_.expire(now, [this](DeadlineHook& hook) {
    auto& call = static_cast<OutgoingCall&>(hook);
    const std::string where = peer_of(call.node).describe();
    const bool sent = tell_node_to_stop(call);
    end(call, {Ending::deadline, sent || call.lost_once, ErrorCode::deadline},
        bytes_of(fmt::format("the deadline passed {} {}",
                             sent ? "before an answer came from" : "while waiting to reach",
                             where)));
  });
  wheel_armed_ = false;
  if (const auto next = wheel_.next()) {
    wheel_armed_until_ = std::max(*next, now + Duration(DeadlineWheel::kTickNs));
    arm_deadlines();
  }
}

}  // namespace godwit::call
