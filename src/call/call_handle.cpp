#include "godwit/call_handle.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "call/caller.hpp"
#include "call/outgoing.hpp"
#include "code/bundle/bundle.hpp"

namespace godwit::detail {
namespace {

// Within some milliseconds, for a quarter of what the exact time costs: deadlines are kept to a
// tick of that size anyway.
Time coarse_now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

call::Caller& caller_of(call::OutgoingCall& call) {
  return *static_cast<call::Caller*>(call.user);
}

}  // namespace

CallHandle CallHandle::prepare(call::Caller& caller) {
  call::OutgoingCall* call = caller.engine().pool().acquire();
  if (call != nullptr) call->user = &caller;
  return CallHandle(call);
}

static_assert(CallHandle::kSmallBytes == call::OutgoingCall::kInlineBytes);

std::span<std::byte> CallHandle::small() noexcept {
  return call_->inline_bytes;
}

std::span<std::byte> CallHandle::large(std::size_t size) {
  Buffer& spilled = call_->rare().spilled_arguments;
  spilled = Buffer::allocate(size);
  return spilled.mutable_view();
}

void CallHandle::count_in(std::shared_ptr<call::CallCount> count) {
  call_->rare().counted = std::move(count);
}

void CallHandle::begin_when(const godwit_change& change) {
  call_->has_change = true;
  call_->change = {.element_size = change.element_size,
                   .region = change.region,
                   .index = change.index,
                   .last_seen = change.last_seen,
                   .value_at = change.value_at};
}

void CallHandle::stay() noexcept {
  call_->stays = true;
}

static_assert(CallHandle::kMaxObjects == wire::kMaxObjectArguments);

void CallHandle::lend_object(std::uint32_t parameter, const Handle& handle) {
  wire::ObjectExtension object;
  object.parameter = parameter;
  object.handle = handle;
  call_->rare().objects.push_back(object);
  call_->has_objects = true;
}

void CallHandle::start(std::uint64_t node, call::FunctionRef& function, std::span<const Blob> parts,
                       std::chrono::nanoseconds time_left) {
  if (parts.size() > call::OutgoingCall::kMaxParts) {
    std::size_t size = 0;
    for (const Blob& part : parts) size += part.size();
    Buffer joined = Buffer::allocate(size);
    std::byte* at = joined.data();
    for (const Blob& part : parts) at = std::copy(part.begin(), part.end(), at);
    call_->rare().spilled_arguments = std::move(joined);
    call_->parts[0] = call_->rare().spilled_arguments.view();
    call_->part_count = 1;
  } else {
    std::copy(parts.begin(), parts.end(), call_->parts.begin());
    call_->part_count = parts.size();
  }
  const Bytes spilled = std::as_const(*call_).rare().spilled_arguments.view();
  for (std::size_t i = 0; i < call_->part_count; ++i) {
    const Bytes part = call_->parts[i];
    const auto inside = [&](Bytes memory) {
      return part.data() >= memory.data() && part.data() < memory.data() + memory.size();
    };
    call_->lent = call_->lent || (!inside(call_->inline_bytes) && !inside(spilled));
  }
  launch(node, function, time_left);
}

void CallHandle::start(std::uint64_t node, call::FunctionRef& function, std::size_t small_size,
                       std::chrono::nanoseconds time_left) {
  call_->parts[0] = Bytes(call_->inline_bytes).first(small_size);
  call_->part_count = 1;
  launch(node, function, time_left);
}

void CallHandle::launch(std::uint64_t node, call::FunctionRef& function,
                        std::chrono::nanoseconds time_left) {
  call_->node = NodeId{node};
  call_->function = &function;
  call_->deadline = coarse_now() + time_left;
  call_->time_left = time_left;
  caller_of(*call_).start(*call_);
}

bool CallHandle::ended() const noexcept {
  return call_ == nullptr || call_->waiter.done();
}

bool CallHandle::wait(std::chrono::nanoseconds at_most) {
  if (call_ == nullptr) return true;
  call::Caller& caller = caller_of(*call_);
  const Time until = caller.reactor().now() + at_most;
  return caller.wait(*call_, until);
}

void CallHandle::wait() {
  if (ended()) return;
  // A stopped reactor makes no progress; the runtime ends every call before it stops.
  while (!caller_of(*call_).wait(*call_, fabric::kNever)) {
  }
}

void CallHandle::cancel() {
  if (call_ != nullptr) caller_of(*call_).cancel(*call_);
}

void CallHandle::attach(Continuation& continuation) {
  caller_of(*call_).attach(*call_, continuation);
}

void CallHandle::detach() {
  if (call_ == nullptr) return;
  if (call_->lent) wait();
  call::OutgoingPool::release(*std::exchange(call_, nullptr));
}

void CallHandle::drop() noexcept {
  if (call_->function != nullptr && !ended()) {
    cancel();
    if (call_->lent) wait();
  }
  call::OutgoingPool::release(*std::exchange(call_, nullptr));
}

bool CallHandle::ok() const noexcept {
  return call_ != nullptr && call_->outcome.ending == Ending::ok;
}

Blob CallHandle::result() const noexcept {
  return call_->result;
}

const Blob* CallHandle::result_if_ok() const noexcept {
  return ok() ? &call_->result : nullptr;
}

Failure CallHandle::failure() const {
  if (call_ == nullptr) {
    return {Ending::rejected, ErrorCode::overload, false,
            "this process has as many calls outstanding as it can have"};
  }
  return {call_->outcome.ending, call_->outcome.reason, call_->outcome.may_have_started,
          std::string(text_of(call_->result))};
}

ref::ObjectAccess& CallHandle::objects() const noexcept {
  return *caller_of(*call_).objects();
}

// --- FunctionCode -----------------------------------------------------------------------------

struct FunctionCode::State {
  struct Binding {
    std::uint64_t caller = 0;
    call::FunctionRef* function = nullptr;
  };
  code::Bundle bundle;
  std::uint32_t function = 0;
  std::atomic<const Binding*> latest{nullptr};
  std::mutex mutex;
  std::vector<std::unique_ptr<Binding>> bindings;
};

FunctionCode::FunctionCode(const code::Bundle& bundle, std::uint32_t function)
    : state_(std::make_unique<State>()) {
  state_->bundle = bundle;
  state_->function = function;
}

FunctionCode::~FunctionCode() = default;

call::FunctionRef& FunctionCode::known_to(call::Caller& caller) {
  const State::Binding* latest = state_->latest.load(std::memory_order_acquire);
  if (latest != nullptr && latest->caller == caller.serial()) return *latest->function;
  const std::lock_guard lock(state_->mutex);
  for (const auto& binding : state_->bindings) {
    if (binding->caller == caller.serial()) {
      state_->latest.store(binding.get(), std::memory_order_release);
      return *binding->function;
    }
  }
  auto binding = std::make_unique<State::Binding>();
  binding->caller = caller.serial();
  binding->function = caller.engine().functions().intern(state_->bundle, state_->function);
  state_->bindings.push_back(std::move(binding));
  state_->latest.store(state_->bindings.back().get(), std::memory_order_release);
  return *state_->bindings.back()->function;
}

void advise_large(void* memory, std::size_t size) noexcept {
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHugePage - 1) & ~(kHugePage - 1);
  const std::uintptr_t last = (begin + size) & ~(kHugePage - 1);
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

void run_on_executor(call::Caller& caller, Continuation& continuation) {
  caller.run(continuation);
}

}  // namespace godwit::detail
