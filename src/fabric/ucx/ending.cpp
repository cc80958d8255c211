// How a link goes down: closed by us, by the peer, or broken.
#include <utility>

#include "base/fail.hpp"
#include "fabric/ucx/transport.hpp"

namespace godwit::fabric::ucx {
namespace {

// For UCX to give back the requests of a dropped endpoint.
constexpr std::chrono::milliseconds kEndingLimit{1000};
// Polls after the control socket's end, to read what the peer had sent before it.
constexpr std::uint32_t kLastLooks = 16;

Error closed_by_us() {
  return {ErrorCode::none, "the link was closed"};
}

}  // namespace

void UcxTransport::close(LinkId id) {
  reactor_.assert_owner();
  Link* const link = links_.find(id);
  if (link == nullptr || link->state == LinkState::saying_bye || link->state == LinkState::ending) {
    return;
  }
  if (link->state != LinkState::up) {
    end(*link, closed_by_us());
    return;
  }
  send_batch(*link);
  if (link->state != LinkState::up) return;
  link->state = LinkState::saying_bye;
  set_deadline(*link, options_.close_limit);
  say_bye(*link);
}

// The bye travels behind everything sent before; the peer hangs up when it has read that far.
void UcxTransport::say_bye(Link& link) {
  if (link.sends_in_flight > 0 || !link.offered.empty() || has_going(link) || link.bye_sent) {
    return;
  }
  link.bye_sent = true;
  (void)send_control(link, ControlWord::bye, link.unasked_out.bodies);
}

void UcxTransport::peer_said_bye(Link& link) {
  link.bye_received = true;
  // deliver() comes back here
  if (link.inbound_bodies > 0 || link.unasked_in.bodies < link.unasked_in.before_bye) return;
  if (link.state != LinkState::saying_bye) {
    end(link, {ErrorCode::none, "the peer closed the link"});
  } else if (link.bye_sent) {
    end(link, closed_by_us());
  }
}

void UcxTransport::control_frame(Link& link) {
  end(link, {ErrorCode::protocol_violation,
             "the peer sent a frame on the control socket of an established link"});
}

void UcxTransport::control_closed(Link& link, const Error& why) {
  if (link.state == LinkState::ending || link.last_looks > 0) return;
  link.why = link.state == LinkState::saying_bye ? closed_by_us() : why;
  link.last_looks = kLastLooks;
  hung_up_.push_back(link.id);
}

// A peer that hung up may have left messages unread in UCX's sockets: ends its link once progress
// finds nothing more, or has looked often enough.
void UcxTransport::take_last_looks() {
  const bool drained = worker_->progress() == 0 && inbox_.empty();
  std::erase_if(hung_up_, [&](LinkId id) {
    Link* const link = links_.find(id);
    if (link == nullptr || link->state == LinkState::ending) return true;
    if (!drained && --link->last_looks > 0) return false;
    end(*link, std::exchange(link->why, {}));
    return true;
  });
}

// Inside progress: takes a note.
void UcxTransport::on_endpoint_error(void* transport, ucp_ep_h endpoint, ucs_status_t status) {
  static_cast<UcxTransport*>(transport)->endpoint_errors_.push_back({endpoint, status});
}

void UcxTransport::handle_endpoint_errors() {
  for (const EndpointError& error : std::exchange(endpoint_errors_, {})) {
    links_.for_each([&](Link& link) {
      if (link.endpoint.handle() != error.endpoint) return;
      end(link, link.state == LinkState::saying_bye
                    ? closed_by_us()
                    : ucx_error(ErrorCode::link_lost, "UCX lost the peer", error.status));
    });
  }
}

// The only way to `ending`. Messages of the link that are still queued are dropped.
void UcxTransport::end(Link& link, Error why) {
  if (link.state == LinkState::ending) return;
  link.state = LinkState::ending;
  link.why = std::move(why);
  links_.clear_token(link);
  link.setup.reset();
  link.lane_setups.clear();
  link.main.socket.reset();
  link.more.clear();
  drop_bodies(link);
  if (link.batch != nullptr) recycle(std::exchange(link.batch, nullptr));
  link.endpoint.close_now();
  ending_.push_back(link.id);
  set_deadline(link, kEndingLimit);
}

void UcxTransport::finish_endings() {
  std::erase_if(ending_, [this](LinkId id) { return finish_ending(*links_.find(id)); });
}

bool UcxTransport::finish_ending(Link& link) {
  const bool released = link.endpoint.closed() && link.sends_in_flight == 0;
  if (!released && !link.overdue) return false;
  if (!released) {
    counters_.overdue_sends += link.sends_in_flight;
    stuck_endpoints_.push_back(std::move(link.endpoint));
  }
  reactor_.cancel(link.deadline);
  if (link.announced) {
    changes_.push_back({.link = link.id, .up = false, .peer = {}, .why = std::move(link.why)});
  }
  links_.remove(link);
  return true;
}

}  // namespace godwit::fabric::ucx
