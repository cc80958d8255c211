// Getting a bundle for a function that runs here. It is looked for as if a call of it had arrived
// from where the function's own call came from: a record of one is parked, and ends unrun.
#include "call/code_fetch.hpp"

#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"

namespace godwit::call {

Result<code::Bundle> Engine::fetch(const CallContext& context, const ContentId& bundle) {
  if (!executor_->begin_blocking()) {
    return fail(ErrorCode::overload, "too many functions wait on this node already");
  }
  auto wish = std::make_shared<CodeFetch>();
  wish->self = wish;
  wish->bundle = bundle;
  wish->on_behalf = context.call;
  wish->deadline = context.deadline_from(scheduler_.now());
  wish->post.owner = wish.get();
  wish->post.deliver = [](Engine& engine, Posted& posted) {
    engine.begin_fetch(*static_cast<CodeFetch*>(posted.owner));
  };
  post(wish->post);
  // A parked call ends by its deadline or with its link, so this wait ends.
  wish->done.wait(0, std::memory_order_acquire);
  executor_->end_blocking();
  return std::move(wish->found);
}

void Engine::begin_fetch(CodeFetch& fetch) {
  if (code::Bundle here = bundle_for(fetch.bundle)) {
    fetch.found = std::move(here);
    return end_fetch(fetch);
  }
  LinkState* const link = fetch.on_behalf->link;
  if (link == nullptr || shut_down_) {
    fetch.found = fail(ErrorCode::unknown_code,
                       "bundle {} is not here, and the link to where this call came from is gone",
                       fetch.bundle.short_hex());
    return end_fetch(fetch);
  }
  IncomingCall& parked = incoming_pool_.acquire();
  parked.state = IncomingCall::State::parked;
  parked.fetch = fetch.self;
  parked.link = link;
  parked.caller = link->peer->id;
  parked.deadline = fetch.deadline;
  parked.travel = fetch.on_behalf->travel;
  parked.travels = fetch.on_behalf->travels;
  parked.bundle_id = fetch.bundle;
  parked.holds_credit = false;  // the peer has not called
  link->incoming.push_back(parked);
  ++link->incoming_count;
  ++link->without_credit;
  fetch.found = fail(ErrorCode::unknown_code, "the link broke over which bundle {} was to come",
                     fetch.bundle.short_hex());
  park(parked);
}

void Engine::fetched(IncomingCall& call, const code::Bundle& bundle) {
  call.fetch->found = bundle;
  release(call);
}

void Engine::fetch_failed(IncomingCall& call, Error why) {
  call.fetch->found = tl::unexpected(std::move(why));
  release(call);
}

void Engine::end_fetch(CodeFetch& fetch) {
  const std::shared_ptr<CodeFetch> kept = std::move(fetch.self);
  fetch.done.store(1, std::memory_order_release);
  fetch.done.notify_all();
}

}  // namespace godwit::call
