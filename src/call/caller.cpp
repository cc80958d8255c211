#include "call/caller.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace godwit::call {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void deliver_attach(Engine&, Posted& posted) {
  auto& call = *static_cast<OutgoingCall*>(posted.owner);
  detail::Continuation& continuation = *call.attaching;
  if (call.waiter.done()) {
    static_cast<Caller*>(call.user)->run(continuation);
  } else {
    call.continuation = &continuation;
  }
  OutgoingPool::release(call);
}

}  // namespace

Caller::Caller(fabric::Reactor& reactor, Engine& engine, Executor& continuations, Options options)
    : reactor_(reactor),
      engine_(engine),
      continuations_(continuations),
      options_(std::move(options)),
      serial_(next_serial()) {}

// Where nobody owns the reactor the call leaves from this very thread; otherwise the owner sends
// it.
void Caller::start(OutgoingCall& call) {
  call.user = this;
  call.on_end = &Caller::ended;
  if (call.stays) {
    const auto begin = [&] { engine_.start(call); };
    if (!reactor_.try_run_and_wait(begin, call.waiter, fabric::kNever)) engine_.start_later(call);
    return;
  }
  if (reactor_.try_run_as_owner([&] { engine_.start(call); })) return;
  engine_.start_later(call);
}

void Caller::cancel(OutgoingCall& call) {
  if (call.waiter.done()) return;
  if (call.cancelling.exchange(true, std::memory_order_relaxed)) return;
  if (reactor_.try_run_as_owner([&] { engine_.cancel(call); })) return;
  engine_.cancel_later(call);
}

bool Caller::wait(OutgoingCall& call, Time deadline) {
  if (call.waiter.done()) return true;
  return reactor_.wait(call.waiter, deadline);
}

void Caller::ended(OutgoingCall& call) {
  auto& caller = *static_cast<Caller*>(call.user);
  detail::Continuation* next = call.continuation;
  if (call.has_rare && call.rare().counted != nullptr) [[unlikely]] {
    std::exchange(call.rare().counted, nullptr)->end();
  }
  call.waiter.complete();
  if (next != nullptr) caller.run(*next);
}

// Whether the call has ended already is for the owning thread to say: that keeps the end of a call
// nobody attached to free of it.
void Caller::attach(OutgoingCall& call, detail::Continuation& continuation) {
  if (call.waiter.done()) return run(continuation);
  OutgoingPool::add_reference(call);
  call.attaching = &continuation;
  call.attach_post.owner = &call;
  call.attach_post.deliver = &deliver_attach;
  if (reactor_.try_run_as_owner([&] { deliver_attach(engine_, call.attach_post); })) return;
  engine_.post(call.attach_post);
}

struct Caller::ContinuationJob : Executor::Job {
  detail::Continuation* continuation = nullptr;
};

void Caller::run_queued(Executor::Job& queued) {
  const std::unique_ptr<ContinuationJob> mine(static_cast<ContinuationJob*>(&queued));
  mine->continuation->run();
}

void Caller::run(detail::Continuation& continuation) {
  auto job = std::make_unique<ContinuationJob>();
  job->continuation = &continuation;
  job->run = &Caller::run_queued;
  if (continuations_.submit(*job)) {
    static_cast<void>(job.release());  // the executor's, until it runs
  } else {
    continuation.run();  // the queue is full: late on this thread beats never
  }
}

}  // namespace godwit::call
