// The verbs of mobile code about objects. Run on the function's threads.
#include <cstring>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"
#include "code/types/type.hpp"

namespace godwit::call {
namespace {

std::int32_t no_objects() {
  return failed(ErrorCode::unsupported, "this node is the home of no objects");
}

// An object that is not at hand. Its home is another node, or it lies on a disk.
Result<Objects::Found> find_slowly(CallContext& context, Objects& objects, const Handle& handle) {
  if (!context.may_block) {
    return fail(ErrorCode::would_block,
                "object {} is not in this node's memory, and an inline function may not wait for "
                "it: export it without inline_",
                handle.object.short_hex());
  }
  Engine& engine = *context.engine;
  if (!engine.executor()->begin_blocking()) {
    return fail(ErrorCode::overload, "too many functions wait on this node already");
  }
  const Time now = engine.scheduler().now();
  auto found = objects.find(handle, context.deadline_from(now) - now);
  engine.executor()->end_blocking();
  return found;
}

}  // namespace

namespace verbs {

std::int32_t answer_about_objects(const godwit_here_v1* here, const void* request,
                                  std::size_t size) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) return no_objects();
  Objects::Asker asker{.node = *context.caller, .may_wait = context.may_block};
  // Only on the polling thread is it sure that the call is held back before it is woken.
  if (!context.may_block) {
    asker.waiter = context.engine->next_waiter();
    asker.ready = &context.engine->ready_waiters();
  }
  const auto answered =
      objects->answer(asker, Bytes{static_cast<const std::byte*>(request), size}, *context.reply);
  if (!answered) return failed(answered.error());
  if (*answered) return 0;
  context.waiter = asker.waiter;
  return GODWIT_NOT_YET;
}

std::int32_t resolve_object(const godwit_here_v1* here, const void* handle, const char* type,
                            std::size_t type_size, godwit_bytes* bytes) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) return no_objects();
  Handle wanted;
  std::memcpy(&wanted, handle, sizeof wanted);
  if (type != nullptr && wanted.type != code::type_hash({type, type_size})) {
    return failed(ErrorCode::type_mismatch,
                  fmt::format("object {} is not of the type {}", wanted.object.short_hex(),
                              std::string_view(type, type_size)));
  }
  auto at_once = objects->find_at_once(wanted);
  if (!at_once) return failed(at_once.error());
  auto found = *at_once ? Result<Objects::Found>(**std::move(at_once))
                        : find_slowly(context, *objects, wanted);
  if (!found) return failed(found.error());
  *bytes = {found->bytes.data(), found->bytes.size()};
  const std::lock_guard lock(context.mutex);
  if (!context.pins.add(std::move(found->keeps))) {
    return failed(
        ErrorCode::resource_exhausted,
        fmt::format("this function has views of {} regions and objects, the limit", Pins::kMax));
  }
  return 0;
}

std::int32_t put_object(const godwit_here_v1* here, const godwit_put_v1* request, void* handle) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) return no_objects();
  if (request->size < sizeof *request) {
    return failed(ErrorCode::invalid_argument,
                  fmt::format("a request to put an object is {} bytes, not {}", sizeof *request,
                              request->size));
  }
  std::vector<Bytes> parts(request->part_count);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {static_cast<const std::byte*>(request->parts[i].data), request->parts[i].size};
  }
  const auto made = objects->put({.type = code::type_hash({request->type, request->type_size}),
                                  .lifetime = request->lifetime,
                                  .readers = request->readers,
                                  .lease = Duration(request->lease_ns),
                                  .parts = parts,
                                  .may_wait = context.may_block});
  if (!made) return failed(made.error());
  std::memcpy(handle, &*made, sizeof *made);
  return 0;
}

}  // namespace verbs
}  // namespace godwit::call
