// The verbs of mobile code about objects. Run on the function's threads.
#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call::verbs {

std::int32_t answer_about_objects(const godwit_here_v1* here, const void* request,
                                  std::size_t size) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) {
    return failed(ErrorCode::unsupported, "this node is the home of no objects");
  }
  Objects::Asker asker{.node = context.caller, .may_wait = context.may_block};
  // Only on the polling thread is it sure that the call is held back before it is woken.
  if (!context.may_block) asker.waiter = context.engine->next_waiter();
  const auto answered =
      objects->answer(asker, Bytes{static_cast<const std::byte*>(request), size}, *context.reply);
  if (!answered) return failed(answered.error());
  if (*answered) return 0;
  context.waiter = asker.waiter;
  return GODWIT_NOT_YET;
}

}  // namespace godwit::call::verbs
