#include "call/incoming.hpp"

namespace godwit::call {

IncomingCall& IncomingPool::acquire() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<IncomingCall>());
    free_.push_back(all_.back().get());
  }
  IncomingCall& call = *free_.back();
  free_.pop_back();
  ++in_use_;
  return call;
}

void IncomingPool::release(IncomingCall& call) {
  call.link = nullptr;
  call.caller = {};
  call.caller_id = 0;
  call.bundle_id = {};
  call.function = 0;
  call.travel = {};
  call.travels = false;
  call.body.reset();
  call.fetch.reset();
  call.holds_credit = true;
  call.waits_long = false;
  call.awaits_change = false;
  call.watched_at = 0;
  call.objects.clear();
  call.found.clear();
  call.settled = 0;
  call.not_found.reset();
  call.awaits_objects = false;
  call.waiter = 0;
  call.has_waited = false;
  call.arguments = {};
  call.bundle = {};
  call.library = nullptr;
  call.entry = nullptr;
  call.token = 0;
  call.cancelled.store(false, std::memory_order_relaxed);
  call.context.continuation = {};
  call.reply.spilled.reset();
  call.reply.lender.reset();
  call.status = 0;
  call.began_ns.store(0, std::memory_order_relaxed);
  call.skipped = false;
  call.overdue = false;
  call.intake_id = 0;
  call.whereabouts = {};
  call.hop = nullptr;
  --in_use_;
  free_.push_back(&call);
}

}  // namespace godwit::call
