// The verbs of mobile code about objects. Run on the function's threads.
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call::verbs {

std::int32_t ask_objects(const godwit_here_v1* here, const void* request, std::size_t size,
                         godwit_bytes* answer) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) {
    return failed(ErrorCode::unsupported, "this node is the home of no objects");
  }
  Objects::Asker asker{.node = context.caller, .may_wait = context.may_block};
  // Only the polling thread can be sure that the call is held back before it is woken.
  if (!context.may_block) asker.waiter = context.engine->next_waiter();
  auto given = objects->ask(asker, Bytes{static_cast<const std::byte*>(request), size});
  if (!given) return failed(given.error());
  if (given->waits) {
    context.waiter = asker.waiter;
    return GODWIT_NOT_YET;
  }
  *answer = {given->bytes.data(), given->bytes.size()};
  if (given->keeps != nullptr) {
    const std::lock_guard lock(context.mutex);
    if (!context.pins.add(std::move(given->keeps))) {
      return failed(ErrorCode::resource_exhausted,
                    fmt::format("this function has {} answers, the limit", Pins::kMax));
    }
  }
  return 0;
}

}  // namespace godwit::call::verbs
