// The verb by which mobile code becomes a rank of an exchange. Runs on the function's thread.
#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call::verbs {

std::int32_t run_rank(const godwit_here_v1* here, godwit_rank_v1* rank) {
  CallContext& context = context_of(here);
  Engine& engine = *context.engine;
  if (engine.ranks() == nullptr) {
    return failed(ErrorCode::unsupported, "no rank of an exchange runs on this node");
  }
  if (rank->size < sizeof *rank) {
    return failed(
        ErrorCode::invalid_argument,
        fmt::format("a request to be a rank is {} bytes, not {}", sizeof *rank, rank->size));
  }
  if (!context.may_block) {
    return failed(ErrorCode::would_block,
                  "an inline function may not be a rank: export it without inline_");
  }
  if (!engine.executor()->begin_blocking()) {
    return failed(ErrorCode::overload, "too many functions wait on this node already");
  }
  const Status ran = engine.ranks()->run(*rank, [&]() -> std::optional<Error> {
    if (context.cancelled != nullptr && context.cancelled->load(std::memory_order_relaxed)) {
      return Error{ErrorCode::cancelled, "the program that called the ranks is gone"};
    }
    const Time now = engine.scheduler().now();
    if (context.deadline_from(now) > now) return std::nullopt;
    return Error{ErrorCode::deadline, "the deadline of the call that is a rank has passed"};
  });
  engine.executor()->end_blocking();
  return ran ? 0 : failed(ran.error());
}

}  // namespace godwit::call::verbs
