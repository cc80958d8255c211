// A call this process makes: preallocated, reused, found by its id in O(1).
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
#include "base/list.hpp"
#include "call/call_count.hpp"
#include "call/deadline_wheel.hpp"
#include "call/function_ref.hpp"
#include "call/posted.hpp"
#include "fabric/waiter.hpp"
#include "wire/call.hpp"

namespace godwit::detail {
class Continuation;
}

namespace godwit::call {

struct LinkState;
struct OutgoingTag;
class OutgoingPool;

// Between acquire() and Engine::start() the caller's thread fills in the request; from then until
// on_end the engine's owning thread has it; afterwards the caller reads the outcome. References:
// the caller's, the engine's from start() until on_end has returned, and one for each post under
// way.
struct alignas(64) OutgoingCall : DeadlineHook, ListHook<OutgoingTag> {
  static constexpr std::size_t kInlineBytes = 1088;  // a KiB and its descriptor
  static constexpr std::size_t kMaxParts = 8;

  enum class State : std::uint8_t { idle, waiting, sent, ended };

  // What every call touches comes first and close together: with a window of them in flight, the
  // cache lines of a call are most of what it costs.

  // --- The request ---
  NodeId node;
  FunctionRef* function = nullptr;  // kept alive by the engine's table of functions
  // Called by the owning thread once the outcome stands and the parts are the caller's again; must
  // not block, nor end other calls.
  void (*on_end)(OutgoingCall& call) = nullptr;
  void* user = nullptr;
  // What is left until the deadline while the call is fresh; spares send_call() the clock.
  Duration time_left{};
  // For on_end to publish, and the caller to wait on.
  fabric::Waiter waiter;

  // --- The engine's ---
  std::uint64_t id = 0;
  LinkState* link = nullptr;  // the one it was sent on, until it ends or the link is lost
  detail::Continuation* continuation = nullptr;
  std::atomic<std::uint32_t> references{0};
  std::uint32_t index = 0;
  State state = State::idle;
  bool sent_by_token = false;
  bool lost_once = false;
  bool borrowed = false;  // a transport still reads the parts; on_end waits for it

  // --- The request, flags ---
  bool has_travel = false;
  bool has_change = false;   // begins when `change` says
  bool has_objects = false;  // Rare::objects stand for some of its arguments
  bool is_hop = false;       // moves a travelling call on; ends when the receiver has taken it over
  bool lent = false;         // some part is the caller's memory, not ours
  bool stays = false;        // whoever starts it waits for its end
  bool has_rare = false;
  std::atomic<bool> cancelling{false};  // the caller's wish, also before the engine has the call

  // --- The outcome, readable after on_end ---
  wire::OutcomeWord outcome;
  Bytes result;  // the result blob, or the failure's message: in inline_bytes or Rare::large_result

  // --- The arguments ---
  // Parts point into inline_bytes or Rare::spilled_arguments, or at memory the caller lends until
  // the end.
  std::size_t part_count = 0;
  std::array<Bytes, kMaxParts> parts;
  // The arguments, and once nobody reads them any more, the result.
  alignas(64) std::array<std::byte, kInlineBytes> inline_bytes;

  // --- What few calls need ---
  // Untouched, and its cache lines left alone, for a call that never asks for it.
  struct Rare {
    Buffer spilled_arguments;
    Buffer large_result;
    std::vector<wire::ObjectExtension> objects;
    std::shared_ptr<CallCount> counted;  // null once on_end was called
    std::atomic<std::uint32_t> done{0};  // for on_end to publish, instead of the waiter
    Time retry_until;
  };
  [[nodiscard]] Rare& rare() noexcept {
    has_rare = true;
    return rare_;
  }
  [[nodiscard]] const Rare& rare() const noexcept { return rare_; }

  class OutgoingShelf* shelf = nullptr;
  detail::Continuation* attaching = nullptr;  // on its way to be the continuation, by attach_post
  wire::TravelExtension travel;
  wire::ChangeExtension change;
  Posted start_post;
  Posted cancel_post;
  Posted attach_post;

 private:
  Rare rare_;
};

// Where the calls of one pool are stored. Threads keep a few at hand each (see outgoing.cpp), so
// that one which makes calls again and again takes no lock.
class OutgoingShelf {
 public:
  static constexpr std::size_t kChunk = 64;

  // Fills `calls` as far as the limit on calls allows; returns how many it filled.
  std::size_t take(std::span<OutgoingCall*> calls);
  void give_back(std::span<OutgoingCall* const> calls) noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<OutgoingCall[]>> chunks_;
  std::vector<OutgoingCall*> free_;
};

// Any thread.
class OutgoingPool {
 public:
  // At most this many calls exist at a time; acquire() returns null beyond.
  static constexpr std::size_t kMaxCalls = std::size_t{1} << 20;

  OutgoingPool() : shelf_(std::make_shared<OutgoingShelf>()) {}

  [[nodiscard]] OutgoingCall* acquire();
  // By somebody who has a reference. A count of one can only be the asker's own: nobody else could
  // change it, and the two below need no atomic exchange then.
  static void add_reference(OutgoingCall& call) noexcept {
    if (call.references.load(std::memory_order_acquire) == 1) {
      call.references.store(2, std::memory_order_relaxed);
    } else {
      call.references.fetch_add(1, std::memory_order_relaxed);
    }
  }
  static void release(OutgoingCall& call) noexcept {
    if (call.references.load(std::memory_order_acquire) == 1 ||
        call.references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      recycle(call);
    }
  }

 private:
  static void recycle(OutgoingCall& call) noexcept;

  std::shared_ptr<OutgoingShelf> shelf_;
};

}  // namespace godwit::call
