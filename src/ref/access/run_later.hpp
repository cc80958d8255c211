// Timers of objects that any thread uses.
#pragma once

#include <memory>
#include <utility>

#include "base/scheduler.hpp"
#include "fabric/reactor.hpp"

namespace godwit::ref {

// Calls the member after that time, as the reactor's owner, if the object lives still. Only the
// owner may set a timer; this may be called by any thread.
template <class T>
void run_later(fabric::Reactor& reactor, Duration after, std::weak_ptr<T> object,
               void (T::*then)()) {
  reactor.post([&reactor, after, object = std::move(object), then] {
    reactor.post_at(reactor.now() + after, [object, then] {
      if (const auto alive = object.lock()) (alive.get()->*then)();
    });
  });
}

}  // namespace godwit::ref
