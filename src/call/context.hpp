// What a running function may do: the state behind the Here it is given.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/scheduler.hpp"
#include "call/function_ref.hpp"
#include "call/outgoing.hpp"
#include "call/regions.hpp"
#include "godwit/mobile_abi.h"
#include "wire/call.hpp"

namespace godwit::call {

class Engine;
struct IncomingCall;
struct ReplyBuffer;

// Where a call goes on after its function returned GODWIT_CONTINUE.
struct Continuation {
  bool set = false;
  NodeId node;
  FunctionRef* function = nullptr;
  Buffer arguments;
};

// The one-way calls of a function that have not ended; they outlive it. Shared by its context and
// each of them, so it lives as long as there is somebody to count.
struct OneWayCalls {
  std::atomic<std::uint32_t> references{1};  // the context's

  [[nodiscard]] std::uint32_t outstanding() const noexcept {
    return references.load(std::memory_order_relaxed) - 1;
  }
  void add() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  static void release(OneWayCalls* calls) noexcept {
    if (calls->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete calls;
  }
};

// What the views of one call point at, until it ends. The first few need no allocation.
class Pins {
 public:
  static constexpr std::size_t kMax = 1024;

  [[nodiscard]] bool empty() const noexcept { return few_[0] == nullptr; }
  // False: there are kMax already. What is pinned already is not pinned again.
  [[nodiscard]] bool add(Regions::Pin pin);
  void clear() noexcept;

 private:
  std::array<Regions::Pin, 4> few_;
  std::vector<Regions::Pin> more_;
};

// Filled in by the engine before a function runs, read by it afterwards; in between it belongs to
// the function's threads (the mutex guards what several of them may change).
struct CallContext {
  godwit_here_v1 table{};
  Engine* engine = nullptr;
  const code::Bundle* bundle = nullptr;
  IncomingCall* call = nullptr;  // what runs, on the executor; null: an inline function
  // A deadline, or for an inline call the time it may take, counted from when somebody asks: it is
  // over too soon for the difference to matter, and reading a clock would cost more than it runs.
  Time deadline;
  Duration time_left{};
  bool may_block = false;
  // Which region the function may have written to, 0 for none, and whether there are more of them.
  std::uint64_t written_region = 0;
  bool wrote_several = false;
  const std::atomic<bool>* cancelled = nullptr;
  const NodeId* caller = nullptr;  // whose call this is
  ReplyBuffer* reply = nullptr;    // the same for the record's whole life
  std::uint64_t waiter = 0;  // not 0: what the function, if it returns GODWIT_AGAIN, waits for
  bool has_waited = false;   // and runs again because what it waited for has happened
  wire::TravelExtension travel;

  std::mutex mutex;
  std::vector<OutgoingCall*> children;  // by handle - 1; null once released
  std::size_t children_alive = 0;
  OneWayCalls* one_way = nullptr;  // once there was one
  Continuation continuation;
  Pins pins;

  // Points the verbs of `table` at this context. `until` of zero: `left` counts.
  void prepare(Engine& owner, const code::Bundle& code, Time until, Duration left, bool blocking,
               const std::atomic<bool>* cancel_flag, const wire::TravelExtension& limits);
  [[nodiscard]] Time deadline_from(Time now) const noexcept {
    return deadline.ns != 0 ? deadline : now + time_left;
  }
  // Lets go of children the function did not release, and of what its views pointed at.
  void finish();
};

// The reply a function writes into, with room of its own for small results.
struct ReplyBuffer {
  godwit_reply reply{};
  // A KiB and its descriptor; what it may hold fits into one small message of any transport.
  static constexpr std::size_t kInlineBytes = 1088;
  static_assert(kInlineBytes >= GODWIT_REPLY_CAPACITY);
  alignas(16) std::byte inline_bytes[kInlineBytes];
  Buffer spilled;
  // With a lender: the whole result, of which some parts are memory of somebody else's, who keeps
  // it for `lender`.
  std::vector<Bytes> parts;
  std::shared_ptr<const void> lender;
  std::size_t limit = 0;

  // Memory that belongs into a result behind the first `after` bytes of what was written to it.
  struct Lent {
    std::size_t after = 0;
    Bytes bytes;
  };

  void prepare(std::size_t limit_bytes) noexcept;
  // Room for `size` bytes of result, all of it; null if that is too much, or there is no memory.
  [[nodiscard]] std::byte* make_room(std::size_t size) noexcept;
  // Puts these between what was written, which is all there by now; in the order of `after`. False:
  // no memory.
  [[nodiscard]] bool lend(std::span<const Lent> pieces, std::shared_ptr<const void> keeps);
  [[nodiscard]] Bytes view() const noexcept {
    return {static_cast<const std::byte*>(reply.data), reply.size};
  }
};

}  // namespace godwit::call
