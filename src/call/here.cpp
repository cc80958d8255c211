// The door of mobile code: what each verb of godwit_here_v1 does. Runs on the function's threads.
#include <algorithm>
#include <span>
#include <utility>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call {
namespace {

thread_local std::string last_error_text;  // see last_error()

// --- Looking around -------------------------------------------------------------------------

std::uint64_t self(const godwit_here_v1* here) {
  return context_of(here).engine->options().self.value;
}

std::size_t nodes(const godwit_here_v1* here, std::uint64_t* ids, std::size_t capacity) {
  const VisibleNodes list = context_of(here).engine->nodes();
  const std::size_t count = std::min(capacity, list->size());
  for (std::size_t i = 0; i < count; ++i) ids[i] = (*list)[i].id.value;
  return list->size();
}

std::uint64_t find_node(const godwit_here_v1* here, const char* name, std::size_t size) {
  const VisibleNodes list = context_of(here).engine->nodes();
  const std::string_view wanted(name, size);
  for (const VisibleNode& node : *list) {
    if (node.name == wanted) return node.id.value;
  }
  return 0;
}

void log(const godwit_here_v1* here, std::int32_t level, const char* text, std::size_t size) {
  CallContext& context = context_of(here);
  context.engine->observer().on_log(level, context.bundle->name(), {text, size});
}

std::int64_t remaining_ns(const godwit_here_v1* here) {
  CallContext& context = context_of(here);
  const Time now = context.engine->scheduler().now();
  return (context.deadline_from(now) - now).count();
}

std::int32_t cancelled(const godwit_here_v1* here) {
  const std::atomic<bool>* flag = context_of(here).cancelled;
  return flag != nullptr && flag->load(std::memory_order_relaxed) ? 1 : 0;
}

const char* last_error(const godwit_here_v1*) {
  return last_error_text.c_str();
}

// --- Calling ----------------------------------------------------------------------------------

std::int32_t nobody_there() {
  return failed(ErrorCode::node_lost,
                "the node to call has the id 0, which is nobody: a shard that was lost has no "
                "owner, nor has an element out of range");
}

Result<Buffer> gather(const godwit_bytes* parts, std::size_t count) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += parts[i].size;
  Buffer all = Buffer::allocate(size);
  if (all.data() == nullptr && size > 0) {
    return fail(ErrorCode::out_of_memory, "no memory for {} bytes of arguments", size);
  }
  std::byte* at = all.data();
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].size > 0) std::memcpy(at, parts[i].data, parts[i].size);
    at += parts[i].size;
  }
  return all;
}

void child_ended(OutgoingCall& call) {
  call.rare().done.store(1, std::memory_order_release);
  call.rare().done.notify_all();
}

void one_way_ended(OutgoingCall& call) {
  OneWayCalls::release(static_cast<OneWayCalls*>(call.user));
}

// With the context's mutex held.
std::size_t outstanding(const CallContext& context) {
  return context.children_alive + (context.one_way != nullptr ? context.one_way->outstanding() : 0);
}

void abandon(CallContext& context, OutgoingCall& child) {
  if (std::as_const(child).rare().done.load(std::memory_order_acquire) == 0)
    context.engine->cancel_later(child);
  OutgoingPool::release(child);
}

// What a call is besides its function and arguments.
struct CallKind {
  std::uint32_t flags = 0;
  const godwit_change* change = nullptr;  // it begins then
};

std::int32_t start_child(CallContext& context, std::uint64_t node,
                         const godwit_function_ref* function, std::span<const godwit_bytes> parts,
                         const CallKind& kind, std::uint64_t* handle) {
  if (context.travel.hops_left == 0) {
    return failed(ErrorCode::hop_limit, "this call descends from too many others to make one more");
  }
  if (node == 0) return nobody_there();
  auto target = resolve(context, *function);
  if (!target) return failed(target.error());
  auto arguments = gather(parts.data(), parts.size());
  if (!arguments) return failed(arguments.error());

  const std::lock_guard lock(context.mutex);
  const std::uint32_t limit = context.engine->options().max_fan_out;
  if (outstanding(context) >= limit) {
    return failed(ErrorCode::fan_out_limit,
                  fmt::format("this function has {} calls outstanding, the limit", limit));
  }
  OutgoingCall* child = context.engine->pool().acquire();
  if (child == nullptr)
    return failed(ErrorCode::overload, "this node has too many calls outstanding");
  child->node = NodeId{node};
  child->function = *target;
  child->deadline = context.deadline_from(context.engine->scheduler().now());
  child->rare().spilled_arguments = *std::move(arguments);
  child->parts[0] = child->rare().spilled_arguments.view();
  child->part_count = 1;
  child->has_travel = true;
  child->travel = {};
  child->travel.hops_left = context.travel.hops_left - 1;
  if (kind.change != nullptr) {
    child->has_change = true;
    child->change = {.element_size = kind.change->element_size,
                     .region = kind.change->region,
                     .index = kind.change->index,
                     .last_seen = kind.change->last_seen,
                     .value_at = kind.change->value_at};
  }
  if ((kind.flags & GODWIT_CALL_ONE_WAY) != 0) {
    if (context.one_way == nullptr) context.one_way = new OneWayCalls;
    context.one_way->add();
    child->user = context.one_way;
    child->on_end = &one_way_ended;
    if (handle != nullptr) *handle = 0;
    context.engine->start_later(*child);
    OutgoingPool::release(*child);
    return 0;
  }
  child->on_end = &child_ended;
  context.children.push_back(child);  // and our reference with it
  ++context.children_alive;
  *handle = context.children.size();
  context.engine->start_later(*child);
  return 0;
}

std::int32_t call(const godwit_here_v1* here, std::uint64_t node,
                  const godwit_function_ref* function, const godwit_bytes* parts,
                  std::size_t part_count, std::uint32_t flags, std::uint64_t* handle) {
  return start_child(context_of(here), node, function, {parts, part_count}, {.flags = flags},
                     handle);
}

std::int32_t call_when(const godwit_here_v1* here, std::uint64_t node, const godwit_change* change,
                       const godwit_function_ref* function, const godwit_bytes* parts,
                       std::size_t part_count, std::uint64_t* handle) {
  return start_child(context_of(here), node, function, {parts, part_count}, {.change = change},
                     handle);
}

OutgoingCall* child_of(CallContext& context, std::uint64_t handle) {
  const std::lock_guard lock(context.mutex);
  return handle >= 1 && handle <= context.children.size() ? context.children[handle - 1] : nullptr;
}

// Every call has a deadline that the engine keeps, so this wait ends.
std::int32_t wait(const godwit_here_v1* here, std::uint64_t handle, godwit_outcome* outcome) {
  CallContext& context = context_of(here);
  OutgoingCall* child = child_of(context, handle);
  if (child == nullptr) {
    return failed(ErrorCode::invalid_argument, fmt::format("no call has the handle {}", handle));
  }
  if (std::as_const(*child).rare().done.load(std::memory_order_acquire) == 0) {
    if (!context.may_block) {
      return failed(ErrorCode::would_block,
                    "an inline function may not wait: export it without inline_");
    }
    if (!context.engine->executor()->begin_blocking()) {
      return failed(ErrorCode::overload, "too many functions wait on this node already");
    }
    std::as_const(*child).rare().done.wait(0, std::memory_order_acquire);
    context.engine->executor()->end_blocking();
  }
  outcome->ending = static_cast<std::int32_t>(child->outcome.ending);
  outcome->reason = static_cast<std::uint32_t>(child->outcome.reason);
  outcome->may_have_started = child->outcome.may_have_started ? 1 : 0;
  outcome->data = child->result.data();
  outcome->size = child->result.size();
  return 0;
}

void release(const godwit_here_v1* here, std::uint64_t handle) {
  CallContext& context = context_of(here);
  OutgoingCall* child = nullptr;
  {
    const std::lock_guard lock(context.mutex);
    if (handle < 1 || handle > context.children.size()) return;
    child = std::exchange(context.children[handle - 1], nullptr);
    if (child == nullptr) return;
    --context.children_alive;
  }
  abandon(context, *child);
}

std::int32_t continue_at(const godwit_here_v1* here, std::uint64_t node,
                         const godwit_function_ref* function, const godwit_bytes* parts,
                         std::size_t part_count) {
  CallContext& context = context_of(here);
  if (node == 0) return nobody_there();
  auto target = resolve(context, *function);
  if (!target) return failed(target.error());
  auto arguments = gather(parts, part_count);
  if (!arguments) return failed(arguments.error());
  const std::lock_guard lock(context.mutex);
  context.continuation = {true, NodeId{node}, *target, *std::move(arguments)};
  return 0;
}

// --- Moving and making code -------------------------------------------------------------------

std::int32_t spread(const godwit_here_v1* here, std::uint64_t node, const std::uint8_t* bundle) {
  CallContext& context = context_of(here);
  ContentId id = context.bundle->id();
  if (bundle != nullptr) std::memcpy(id.digest.data(), bundle, ContentId::kSize);
  context.engine->spread_later(NodeId{node}, id);
  return 0;
}

std::int32_t build(const godwit_here_v1* here, const godwit_build_v1* request,
                   std::uint8_t bundle[32]) {
  CallContext& context = context_of(here);
  if (!context.may_block) {
    return failed(ErrorCode::would_block,
                  "an inline function may not build code: it takes too long");
  }
  Builder* builder = context.engine->builder();
  if (builder == nullptr) {
    return failed(ErrorCode::unsupported, "this node has no JIT, so it cannot build code");
  }
  auto built = builder->build({static_cast<const std::byte*>(request->ir), request->ir_size},
                              {request->function, request->function_size},
                              {request->signature, request->signature_size});
  if (!built) return failed(built.error());
  context.engine->functions().add(*built);
  std::memcpy(bundle, built->id().digest.data(), ContentId::kSize);
  return 0;
}

}  // namespace

std::int32_t failed(ErrorCode code, std::string text) {
  last_error_text = std::move(text);
  return static_cast<std::int32_t>(code);
}

std::int32_t failed(const Error& error) {
  return failed(error.code, error.message);
}

void CallContext::prepare(Engine& owner, const code::Bundle& code, Time until, Duration left,
                          bool blocking, const std::atomic<bool>* cancel_flag,
                          const wire::TravelExtension& limits) {
  if (engine != &owner) {
    table = {sizeof table,
             0,
             this,
             &self,
             &nodes,
             &find_node,
             &log,
             &remaining_ns,
             &call::cancelled,
             &call::call,
             &wait,
             &release,
             &continue_at,
             &spread,
             &build,
             &last_error,
             &verbs::find_region,
             &verbs::region,
             &verbs::apply_region,
             &verbs::check_function,
             &call_when,
             &verbs::own_code,
             &verbs::answer_about_objects,
             &verbs::resolve_object,
             &verbs::put_object,
             &verbs::settle_object,
             &verbs::run_rank};
    engine = &owner;
  }
  table.hops_left = limits.hops_left;
  bundle = &code;
  deadline = until;
  time_left = left;
  may_block = blocking;
  cancelled = cancel_flag;
  travel = limits;
  continuation.set = false;
  written_region = 0;
  wrote_several = false;
  waiter = 0;
  has_waited = false;
}

void CallContext::finish() {
  if (one_way != nullptr) OneWayCalls::release(std::exchange(one_way, nullptr));
  if (!pins.empty()) pins.clear();
  if (children.empty()) return;
  for (OutgoingCall* child : children) {
    if (child != nullptr) abandon(*this, *child);
  }
  children.clear();
  children_alive = 0;
}

}  // namespace godwit::call
