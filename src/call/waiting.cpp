// Calls whose function wants to run again once something has happened, or whose arguments are
// promised and not there yet: held back, without a worker, until then. Whoever was asked for it
// (Objects) says when.
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {
namespace {

// Of calls that wait, at a node: so their memory has a limit.
constexpr std::size_t kMaxWaiting = 65'536;
constexpr Duration kSweepPeriod = std::chrono::seconds(1);

}  // namespace

// Its function has returned GODWIT_AGAIN.
void Engine::hold_back(IncomingCall& call) {
  const std::uint64_t waiter = std::exchange(call.context.waiter, 0);
  call.has_waited = true;
  if (waiter != 0) return wait_for(call, waiter, call.token);
  answer(call, {Ending::rejected, true, ErrorCode::app_error},
         bytes_of("the function asked to run again, but not what it waits for"), {});
}

// Until run_again(waiter), from where it goes on as if its code had just come.
void Engine::wait_for(IncomingCall& call, std::uint64_t waiter, std::uint64_t token) {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    objects_->stop_waiting(waiter);
    answer(call, {Ending::rejected, !call.awaits_objects, code}, bytes_of(why), {});
  };
  if (call.travels) {
    return refuse(ErrorCode::unsupported, "a call that came from another node cannot wait here");
  }
  if (call.cancelled.load(std::memory_order_relaxed)) {
    return refuse(ErrorCode::cancelled, "cancelled before it waited");
  }
  if (waiting_.size() >= kMaxWaiting) {
    return refuse(ErrorCode::overload, "this node has too many calls that wait");
  }
  const bool large = call.arguments.size() > kMaxKeptArgumentBytes;
  if (large && !call.awaits_objects) {
    return refuse(ErrorCode::too_large, "too many bytes of arguments for a call that waits");
  }
  call.state = IncomingCall::State::waiting;
  call.waiter = waiter;
  waiting_.emplace(waiter, &call);
  if (!large) give_credit_back(call, token);
  arm_waiting_sweep();
}

void Engine::run_again(std::uint64_t waiter) {
  scheduler_.post([self = self_, waiter] {
    if (*self != nullptr) (*self)->wake(waiter);
  });
}

// Made ready by a function that this thread has just run; in the order in which they began to wait,
// each answered before the next one runs. What these make ready follows at the end. They are not
// kept waiting for that function's own answer; but if it waits itself it is held back before, since
// what it made ready may make it ready in turn.
void Engine::wake_ready() {
  if (ready_waiters_.empty() || std::exchange(waking_ready_, true)) return;
  for (std::size_t i = 0; i < ready_waiters_.size(); ++i) wake(ready_waiters_[i]);
  ready_waiters_.clear();
  waking_ready_ = false;
}

void Engine::wake(std::uint64_t waiter) {
  const auto found = waiting_.find(waiter);
  if (found == waiting_.end()) return;  // it has ended
  IncomingCall& call = *found->second;
  waiting_.erase(found);
  call.waiter = 0;
  call.state = IncomingCall::State::parked;
  code::FunctionSlot* const slot = store_->find(call.token);
  if (slot != nullptr) [[likely]]
    return begin(call, *slot);
  park(call);  // its code has gone meanwhile, and may come again
}

void Engine::stop_waiting(IncomingCall& call) {
  if (call.waiter == 0) return;
  waiting_.erase(call.waiter);
  objects_->stop_waiting(std::exchange(call.waiter, 0));
}

// The caller keeps its own deadline and says so when it gives up; this is for those that cannot.
void Engine::arm_waiting_sweep() {
  if (std::exchange(waiting_sweep_armed_, true)) return;
  scheduler_.post_at(scheduler_.now() + kSweepPeriod, [self = self_] {
    if (*self != nullptr) (*self)->sweep_waiting();
  });
}

void Engine::sweep_waiting() {
  waiting_sweep_armed_ = false;
  std::vector<IncomingCall*> late;
  const Time now = scheduler_.now();
  for (const auto& [waiter, call] : waiting_) {
    if (call->deadline < now) late.push_back(call);
  }
  for (IncomingCall* call : late) {
    answer(*call, {Ending::deadline, !call->awaits_objects, ErrorCode::deadline},
           bytes_of("the deadline passed while the call waited"), {});
  }
  if (!waiting_.empty()) arm_waiting_sweep();
}

}  // namespace godwit::call
