#include "call/outgoing.hpp"

namespace godwit::call {

OutgoingCall* OutgoingPool::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (chunks_.size() * kChunk >= kMaxCalls) return nullptr;
    const auto first = static_cast<std::uint32_t>(chunks_.size() * kChunk);
    chunks_.push_back(std::make_unique<OutgoingCall[]>(kChunk));
    free_.reserve(chunks_.size() * kChunk);
    for (std::size_t i = kChunk; i-- > 0;) {
      OutgoingCall& call = chunks_.back()[i];
      call.index = first + static_cast<std::uint32_t>(i);
      call.pool = this;
      free_.push_back(&call);
    }
  }
  OutgoingCall* call = free_.back();
  free_.pop_back();
  call->references.store(1, std::memory_order_relaxed);
  return call;
}

void OutgoingPool::release(OutgoingCall& call) noexcept {
  if (call.references.fetch_sub(1, std::memory_order_acq_rel) == 1) call.pool->recycle(call);
}

void OutgoingPool::recycle(OutgoingCall& call) noexcept {
  call.node = {};
  call.function = nullptr;
  call.part_count = 0;
  call.time_left = {};
  call.spilled_arguments.reset();
  call.has_travel = false;
  call.is_hop = false;
  call.on_end = nullptr;
  call.user = nullptr;
  call.waiter.reset();
  call.done.store(0, std::memory_order_relaxed);
  call.continuation.store(nullptr, std::memory_order_relaxed);
  call.cancelling.store(false, std::memory_order_relaxed);
  call.lent = false;
  call.state = OutgoingCall::State::idle;
  call.link = nullptr;
  call.sent_by_token = false;
  call.lost_once = false;
  call.retry_until = {};
  call.borrowed = false;
  call.outcome = {};
  call.result = {};
  call.large_result.reset();
  const std::lock_guard lock(mutex_);
  free_.push_back(&call);  // never allocates: acquire() reserved the room
}

}  // namespace godwit::call
