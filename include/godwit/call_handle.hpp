// The untyped side of a call: what Future and BoundFunction are made of. Applications use those.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/handle.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/outcome.hpp"

namespace godwit::call {
class CallCount;
class Caller;
struct FunctionRef;
struct OutgoingCall;
}  // namespace godwit::call
namespace godwit::code {
class Bundle;
}
namespace godwit::ref {
class ObjectAccess;
}

namespace godwit::detail {

using Blob = std::span<const std::byte>;

// Something to run once, later, on the fleet's executor. Linked into what it waits for, so that
// attaching it does not allocate.
class Continuation {
 public:
  virtual void run() noexcept = 0;

 protected:
  ~Continuation() = default;
};

// One call, owned. Destroying it before the end cancels the call; if the call borrowed memory from
// its caller, destruction waits until the runtime is done with that memory.
class GODWIT_API CallHandle {
 public:
  CallHandle() noexcept = default;
  CallHandle(CallHandle&& other) noexcept : call_(std::exchange(other.call_, nullptr)) {}
  CallHandle& operator=(CallHandle&& other) noexcept {
    if (this != &other) {
      if (call_ != nullptr) drop();
      call_ = std::exchange(other.call_, nullptr);
    }
    return *this;
  }
  ~CallHandle() {
    if (call_ != nullptr) drop();
  }

  // A call to fill in. Empty if the process has too many calls outstanding.
  [[nodiscard]] static CallHandle prepare(call::Caller& caller);
  [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }

  // Room for the arguments: small() is always there, kSmallBytes long; large() replaces it (empty:
  // out of memory).
  static constexpr std::size_t kSmallBytes = 1088;
  [[nodiscard]] std::span<std::byte> small() noexcept;
  [[nodiscard]] std::span<std::byte> large(std::size_t size);
  // Before start(): tells the count, which was told that it begins, when the call ends.
  void count_in(std::shared_ptr<call::CallCount> count);
  // Before start(): the function begins once this has happened.
  void begin_when(const godwit_change& change);
  // Before start(): the bytes of the object stand for a parameter, counted from 0, whose descriptor
  // in the blob leads nowhere. At most kMaxObjects.
  static constexpr std::size_t kMaxObjects = 16;
  void lend_object(std::uint32_t parameter, const Handle& handle);
  // Before start(): wait() follows at once, so that start() need not return before the end where it
  // can make it come sooner.
  void stay() noexcept;
  // Sends it. The parts are the argument blob; those outside of small() and large() are borrowed
  // until the end.
  void start(std::uint64_t node, call::FunctionRef& function, std::span<const Blob> parts,
             std::chrono::nanoseconds time_left);
  // The same for arguments that are the first bytes of small().
  void start(std::uint64_t node, call::FunctionRef& function, std::size_t small_size,
             std::chrono::nanoseconds time_left);

  [[nodiscard]] bool ended() const noexcept;
  // Waits for the end, driving the runtime if nobody else does. False: time is up.
  bool wait(std::chrono::nanoseconds at_most);
  // Every call has a deadline, so this ends.
  void wait();
  void cancel();
  // Runs it once the call has ended, at once if it has (on the fleet's executor either way).
  void attach(Continuation& continuation);
  // Lets the call run on without anybody to hear of its end. Waits if memory is borrowed.
  void detach();

  // After the end.
  [[nodiscard]] bool ok() const noexcept;
  [[nodiscard]] Blob result() const noexcept;
  // The result of a call that ended well, null for any other.
  [[nodiscard]] const Blob* result_if_ok() const noexcept;
  [[nodiscard]] Failure failure() const;
  // What references in the result lead to.
  [[nodiscard]] ref::ObjectAccess& objects() const noexcept;

 private:
  explicit CallHandle(call::OutgoingCall* call) noexcept : call_(call) {}
  void launch(std::uint64_t node, call::FunctionRef& function, std::chrono::nanoseconds time_left);
  void drop() noexcept;
  call::OutgoingCall* call_ = nullptr;
};

// A function of a bundle, and the names callers in this process know it by. Thread-safe.
class GODWIT_API FunctionCode {
 public:
  FunctionCode(const code::Bundle& bundle, std::uint32_t function);
  ~FunctionCode();
  // The function as that caller knows it. O(1) for the caller used last.
  [[nodiscard]] call::FunctionRef& known_to(call::Caller& caller);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Asks the system for huge pages in memory that is about to be written for the first time.
GODWIT_API void advise_large(void* memory, std::size_t size) noexcept;

// A place that is notified and waited on, for futures that are not calls (then, when_all).
GODWIT_API void run_on_executor(call::Caller& caller, Continuation& continuation);

}  // namespace godwit::detail
