// A call this process makes: preallocated, reused, found by its id in O(1).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/list.hpp"
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
// on_end the engine's owning thread has it; afterwards the caller reads the outcome. Two references
// at most: the caller's, and the engine's from start() to the end.
struct OutgoingCall : DeadlineHook, ListHook<OutgoingTag> {
  static constexpr std::size_t kInlineBytes = 1088;  // a KiB and its descriptor
  static constexpr std::size_t kMaxParts = 8;

  enum class State : std::uint8_t { idle, waiting, sent, ended };

  // --- The request ---
  NodeId node;
  FunctionRef* function = nullptr;  // kept alive by the engine's table of functions
  std::array<Bytes, kMaxParts> parts;
  std::size_t part_count = 0;
  // Where the caller may put arguments; parts point here or at memory the caller lends until the
  // end.
  alignas(16) std::array<std::byte, kInlineBytes> inline_arguments;
  Buffer spilled_arguments;
  wire::TravelExtension travel;
  bool has_travel = false;
  bool is_hop = false;  // moves a travelling call on; ends when the receiver has taken it over
  // Called by the owning thread once the outcome stands and the parts are the caller's again; must
  // not block, nor end other calls.
  void (*on_end)(OutgoingCall& call) = nullptr;
  void* user = nullptr;
  // For on_end to publish, and the caller to wait on, whichever it uses.
  fabric::Waiter waiter;
  std::atomic<std::uint32_t> done{0};
  std::atomic<detail::Continuation*> continuation{nullptr};
  std::atomic<bool> cancelling{false};
  bool lent = false;  // some part is the caller's memory, not ours

  // What is left until the deadline while the call is fresh; spares send_call() the clock.
  Duration time_left{};

  // --- The engine's ---
  State state = State::idle;
  std::uint32_t index = 0;
  std::uint64_t id = 0;
  LinkState* link = nullptr;
  bool sent_by_token = false;
  bool lost_once = false;
  bool borrowed = false;  // a transport still reads the parts; on_end waits for it
  Time retry_until;
  Posted start_post;
  Posted cancel_post;
  std::atomic<std::uint32_t> references{0};

  // --- The outcome, readable after on_end ---
  wire::OutcomeWord outcome;
  Bytes result;  // the result blob, or the failure's message; points at one of the next two
  alignas(16) std::array<std::byte, kInlineBytes> inline_result;
  Buffer large_result;

  OutgoingPool* pool = nullptr;
};

// Any thread acquires and releases; the mutex is held for a few instructions.
class OutgoingPool {
 public:
  // At most this many calls exist at a time; acquire() returns null beyond.
  static constexpr std::size_t kMaxCalls = std::size_t{1} << 20;

  [[nodiscard]] OutgoingCall* acquire();
  static void add_reference(OutgoingCall& call) noexcept {
    call.references.fetch_add(1, std::memory_order_relaxed);
  }
  static void release(OutgoingCall& call) noexcept;

 private:
  static constexpr std::size_t kChunk = 64;
  void recycle(OutgoingCall& call) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<OutgoingCall[]>> chunks_;
  std::vector<OutgoingCall*> free_;
};

}  // namespace godwit::call
