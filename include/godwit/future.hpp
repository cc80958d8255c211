// The end of a call, before it is known.
//
//   godwit::Future<double> f = norm.on(node)(samples);
//   godwit::Outcome<double> n = f.get();
//
// Move-only, for one consumer. Lives no longer than the fleet it came from. Destroying a future
// whose call has not ended cancels the call.
//
// then() and co_await go on with the fleet's executor, not with the thread that ended the call.
#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/call_handle.hpp"
#include "godwit/codec.hpp"
#include "godwit/detail/shared_outcome.hpp"
#include "godwit/mobile/std.hpp"
#include "godwit/outcome.hpp"

namespace godwit {

template <class R>
class [[nodiscard]] Future {
 public:
  using value_type = R;

  Future() noexcept = default;
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;

  // False for a default-constructed or consumed one; then only assignment is allowed.
  [[nodiscard]] bool valid() const noexcept {
    return static_cast<bool>(call_) || shared_ || known_.outcome.has_value();
  }
  [[nodiscard]] bool ready() const noexcept {
    if (known_.outcome) return true;
    return shared_ ? shared_->ready() : call_.ended();
  }
  // True once the outcome is there; false if the time passed first.
  bool wait_for(std::chrono::nanoseconds at_most) {
    if (known_.outcome) return true;
    return shared_ ? shared_->wait_for(at_most) : call_.wait(at_most);
  }
  // Waits for the end and consumes the future. Every call has a deadline, so this returns.
  Outcome<R> get() && {
    if (shared_) return std::exchange(shared_, nullptr)->take();
    if (known_.outcome) return *std::exchange(known_.outcome, std::nullopt);
    call_.wait();
    return decode_(std::exchange(call_, {}));
  }
  Outcome<R> get() & { return std::move(*this).get(); }
  // Ends the call early, as `cancelled`; its node is told. No effect on a then() or a coroutine.
  void cancel() {
    if (call_) call_.cancel();
  }

  // A future of what `f(Outcome<R>)` returns: a value, an Outcome, or void. A thrown exception
  // becomes app_error.
  template <class F>
  auto then(F&& f) &&;

  // --- co_await ---
  [[nodiscard]] bool await_ready() const noexcept { return ready(); }
  void await_suspend(std::coroutine_handle<> awaiting) {
    resume_.awaiting = awaiting;
    attach(resume_);
  }
  Outcome<R> await_resume() { return std::move(*this).get(); }

  // A function that co_awaits may return Future<R>: co_return takes an R or an Outcome<R>.
  using promise_type = detail::FuturePromise<R>;

  // For the library: a future that is ready. Allocates nothing.
  [[nodiscard]] static Future known(Outcome<R> outcome) {
    Future future;
    future.known_.outcome.emplace(std::move(outcome));
    return future;
  }
  // A future of an outcome that somebody else will set.
  explicit Future(std::shared_ptr<detail::SharedOutcome<R>> shared) noexcept
      : shared_(std::move(shared)) {}
  explicit Future(detail::CallHandle call) noexcept
      : call_(std::move(call)), decode_(&detail::outcome_of<R>) {}
  // Of a call whose reply is read in a way of its own.
  Future(detail::CallHandle call, Outcome<R> (*decode)(detail::CallHandle)) noexcept
      : call_(std::move(call)), decode_(decode) {}
  void attach(detail::Continuation& continuation) {
    if (known_.outcome) {
      continuation.run();
    } else if (shared_) {
      shared_->attach(continuation);
    } else {
      call_.attach(continuation);
    }
  }
  // The outcome of a ready future, leaving it consumed.
  Outcome<R> take() { return std::move(*this).get(); }

 private:
  struct Resume final : detail::Continuation {
    std::coroutine_handle<> awaiting;
    void run() noexcept override { awaiting.resume(); }
  };

  // Empty once it was moved from.
  struct Known {
    std::optional<Outcome<R>> outcome;
    Known() noexcept = default;
    Known(Known&& other) noexcept : outcome(std::exchange(other.outcome, std::nullopt)) {}
    Known& operator=(Known&& other) noexcept {
      if (this != &other) outcome = std::exchange(other.outcome, std::nullopt);
      return *this;
    }
    ~Known() = default;
  };

  detail::CallHandle call_;
  Outcome<R> (*decode_)(detail::CallHandle) =
      nullptr;  // set for calls only: R must be able to travel
  std::shared_ptr<detail::SharedOutcome<R>> shared_;
  Known known_;
  Resume resume_;
};

namespace detail {

template <class R>
Future<R> FuturePromise<R>::get_return_object() {
  return Future<R>(this->shared);
}
inline Future<void> FuturePromise<void>::get_return_object() {
  return Future<void>(this->shared);
}

// Passes on a call that has ended, to be looked into by somebody else.
inline Outcome<CallHandle> ended_call(CallHandle call) {
  return call;
}

// Waits for one future, then runs `f` on its outcome and sets another; deletes itself.
template <class R, class U, class F>
class Chain final : public Continuation {
 public:
  Chain(Future<R> source, F f, std::shared_ptr<SharedOutcome<U>> target)
      : source_(std::move(source)), f_(std::move(f)), target_(std::move(target)) {}
  void begin() { source_.attach(*this); }
  void run() noexcept override {
    const std::unique_ptr<Chain> self(this);
    target_->set(invoke());
  }

 private:
  Outcome<U> invoke() noexcept {
    try {
      using Raw = std::invoke_result_t<F, Outcome<R>>;
      if constexpr (std::is_void_v<Raw>) {
        f_(source_.take());
        return {};
      } else {
        return Outcome<U>(f_(source_.take()));
      }
    } catch (...) {
      return failed_with_exception<U>();
    }
  }
  Future<R> source_;
  F f_;
  std::shared_ptr<SharedOutcome<U>> target_;
};

}  // namespace detail

template <class R>
template <class F>
auto Future<R>::then(F&& f) && {
  using Raw = std::invoke_result_t<std::decay_t<F>, Outcome<R>>;
  using U = typename detail::Unwrapped<Raw>::type;
  auto target = std::make_shared<detail::SharedOutcome<U>>();
  auto* chain =
      new detail::Chain<R, U, std::decay_t<F>>(std::move(*this), std::forward<F>(f), target);
  chain->begin();
  return Future<U>(std::move(target));
}

// Ready when all are; each outcome is kept, in order.
template <class R>
Future<std::vector<Outcome<R>>> when_all(std::vector<Future<R>> futures) {
  std::vector<Outcome<R>> outcomes;
  outcomes.reserve(futures.size());
  for (auto& future : futures) outcomes.push_back(co_await future);
  co_return outcomes;
}
template <class... R>
Future<std::tuple<Outcome<R>...>> when_all(Future<R>... futures) {
  co_return std::tuple<Outcome<R>...>{co_await futures...};
}

}  // namespace godwit
