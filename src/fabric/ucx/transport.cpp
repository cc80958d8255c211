#include "fabric/ucx/transport.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace godwit::fabric::ucx {

Result<std::unique_ptr<UcxTransport>> UcxTransport::create(Reactor& reactor,
                                                           TransportEvents& events,
                                                           UcxOptions options) {
  if (options.max_links == 0 || options.max_links > UINT16_MAX) {
    return fail(ErrorCode::invalid_argument, "max_links is {}; use 1 to {}", options.max_links,
                UINT16_MAX);
  }
  if (options.connections == 0 || options.connections > UcxOptions::kMaxConnections) {
    return fail(ErrorCode::invalid_argument, "a link of {} connections; use 1 to {}",
                options.connections, UcxOptions::kMaxConnections);
  }
  GODWIT_TRY(Devices devices, devices_for(options.network));
  GODWIT_TRY(auto worker, Worker::create(devices));
  std::unique_ptr<UcxTransport> transport(
      new UcxTransport(reactor, events, std::move(options), std::move(devices), std::move(worker)));
  GODWIT_CHECK(transport->open());
  return transport;
}

UcxTransport::UcxTransport(Reactor& reactor, TransportEvents& events, UcxOptions options,
                           Devices devices, std::unique_ptr<Worker> worker)
    : reactor_(reactor),
      events_(events),
      options_(std::move(options)),
      devices_(std::move(devices)),
      sends_bodies_itself_(devices_.is_tcp_only()),
      worker_(std::move(worker)),
      idle_memory_(reactor),
      links_(options_.max_links) {}

Status UcxTransport::open() {
  GODWIT_CHECK(worker_->set_handler(kMessageAm, &UcxTransport::on_message, this));
  GODWIT_CHECK(worker_->set_handler(kControlAm, &UcxTransport::on_control, this));
  GODWIT_CHECK(worker_->set_handler(kOfferAm, &UcxTransport::on_offer, this));
  GODWIT_CHECK(worker_->set_handler(kBatchAm, &UcxTransport::on_batch, this));
  GODWIT_CHECK(reactor_.add(*this));
  in_reactor_ = true;
  return {};
}

UcxTransport::~UcxTransport() {
  unwatch_worker();
  if (in_reactor_) reactor_.remove(*this);
  acceptor_.reset();
  while (InboundCell* const cell = waiting_bodies_.pop()) forget_waiting(cell);
  links_.for_each([this](Link& link) { end(link, {ErrorCode::shutting_down, {}}); });
  // UCX writes into the cells of bodies that are arriving, and reads those of sends, until the
  // requests end, as they do when their endpoints close.
  const Time deadline = reactor_.now() + std::chrono::milliseconds(Endpoint::kCloseLimitMs);
  const auto busy = [this] {
    bool waiting = fetching_count_ > 0;
    links_.for_each([&](Link& link) {
      waiting = waiting || !link.endpoint.closed() || link.sends_in_flight > 0;
    });
    return waiting;
  };
  while (busy() && reactor_.now() < deadline) {
    worker_->progress();
    while (SendCell* const cell = finished_sends_.pop()) {
      if (Link* const link = links_.find(cell->link)) --link->sends_in_flight;
      recycle(cell);
    }
  }
  links_.for_each([this](Link& link) { reactor_.cancel(link.deadline); });
  while (InboundCell* const cell = inbox_.pop()) release(cell);
}

std::size_t UcxTransport::poll(std::size_t budget) {
  flush_held();
  in_poll_ = true;
  const std::size_t work = move_messages(budget);
  flush();
  in_poll_ = false;
  ++turn_;
  return work;
}

std::size_t UcxTransport::move_messages(std::size_t budget) {
  std::size_t work = deliver_changes();
  // While the inbox is longer than the budget nothing more is read: the senders wait in tcp.
  if (inbox_.size() + batched_inbound_ < budget && backoff_.should_ask()) {
    const unsigned progressed = worker_->progress();
    if (progressed == 0) {
      backoff_.found_nothing();
    } else {
      backoff_.found_something();
      work += progressed;
      if (watches_worker_ && ++busy_polls_ == kBusyPolls) unwatch_worker();
    }
  }
  if (!hung_up_.empty()) [[unlikely]]
    take_last_looks();
  if (!waiting_bodies_.empty()) start_rendezvous();
  if (!moving_.empty()) work += move_bodies();
  if (!finished_sends_.empty()) work += deliver_sent();
  if (!inbox_.empty()) work += deliver_inbox(budget);
  if (!endpoint_errors_.empty()) [[unlikely]]
    handle_endpoint_errors();
  if (!ending_.empty()) [[unlikely]]
    finish_endings();
  return work + deliver_changes();
}

std::size_t UcxTransport::deliver_changes() {
  std::size_t delivered = 0;
  while (!changes_.empty()) {
    const Change change = std::move(changes_.front());
    changes_.pop_front();
    ++delivered;
    if (change.up) {
      events_.on_up(change.link, change.peer);
    } else {
      events_.on_down(change.link, change.why);
    }
  }
  return delivered;
}

bool UcxTransport::prepare_to_sleep() {
  reactor_.assert_owner();
  flush_held();
  const auto idle = [this] {
    return changes_.empty() && inbox_.empty() && finished_sends_.empty() && hung_up_.empty() &&
           ending_.empty() && endpoint_errors_.empty() &&
           (waiting_bodies_.empty() || fetching_count_ > 0) &&  // else one could start now
           !can_feed();
  };
  backoff_.found_something();  // whoever wakes up wants to look at once
  busy_polls_ = 0;
  return idle() && worker_->progress() == 0 && idle() && worker_->arm() && watch_worker();
}

bool UcxTransport::watch_worker() {
  if (!watches_worker_) watches_worker_ = reactor_.watch_to_wake(worker_->wake_fd()).has_value();
  return watches_worker_;
}

void UcxTransport::unwatch_worker() {
  if (std::exchange(watches_worker_, false)) reactor_.unwatch(worker_->wake_fd());
}

}  // namespace godwit::fabric::ucx
