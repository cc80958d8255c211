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

// Does what waits for another process, or a disk.
template <class Do>
auto slowly(CallContext& context, const Handle& handle, Do&& act) -> decltype(act()) {
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
  auto result = act();
  engine.executor()->end_blocking();
  return result;
}

Result<Objects::Found> find_slowly(CallContext& context, Objects& objects, const Handle& handle) {
  const Time now = context.engine->scheduler().now();
  return slowly(context, handle,
                [&] { return objects.find(handle, context.deadline_from(now) - now); });
}

std::vector<Bytes> parts_of(const godwit_bytes* parts, std::size_t count) {
  std::vector<Bytes> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {static_cast<const std::byte*>(parts[i].data), parts[i].size};
  }
  return all;
}

Status check_type(const Handle& handle, std::string_view type) {
  if (handle.type == code::type_hash(type)) return {};
  return fail(ErrorCode::type_mismatch, "object {} is not of the type {}",
              handle.object.short_hex(), type);
}

}  // namespace

namespace verbs {

std::int32_t answer_about_objects(const godwit_here_v1* here, const void* request,
                                  std::size_t size) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) return no_objects();
  // What it waited for is what the same function asked first.
  Objects::Asker asker{.node = *context.caller,
                       .may_wait = context.may_block,
                       .has_waited = std::exchange(context.has_waited, false)};
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
  if (type != nullptr) {
    if (const Status fits = check_type(wanted, {type, type_size}); !fits)
      return failed(fits.error());
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
  const std::vector<Bytes> parts = parts_of(request->parts, request->part_count);
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

std::int32_t settle_object(const godwit_here_v1* here, const void* handle,
                           const godwit_settle_v1* request, void* settled) {
  CallContext& context = context_of(here);
  Objects* objects = context.engine->objects();
  if (objects == nullptr) return no_objects();
  if (request->size < sizeof *request || request->how > GODWIT_BREAK_PROMISE) {
    return failed(ErrorCode::invalid_argument,
                  fmt::format("a request to settle an object is {} bytes, not {}, of kind 0 to 2, "
                              "not {}",
                              sizeof *request, request->size, request->how));
  }
  Objects::Settling what;
  what.how = request->how;
  what.may_wait = context.may_block;
  if (!context.may_block) what.ready = &context.engine->ready_waiters();
  std::memcpy(&what.handle, handle, sizeof what.handle);
  std::vector<Bytes> parts;
  if (request->how == GODWIT_BREAK_PROMISE) {
    what.broken = {static_cast<ErrorCode>(request->error & 0xFFFF),
                   std::string(request->why, request->why_size)};
  } else {
    const Status fits = check_type(what.handle, {request->type, request->type_size});
    if (!fits) return failed(fits.error());
    parts = parts_of(request->parts, request->part_count);
    what.parts = parts;
  }
  const auto done = objects->is_home_of(what.handle)
                        ? objects->settle(what)
                        : slowly(context, what.handle, [&] { return objects->settle(what); });
  if (!done) return failed(done.error());
  if (settled != nullptr) std::memcpy(settled, &*done, sizeof *done);
  return 0;
}

}  // namespace verbs
}  // namespace godwit::call
