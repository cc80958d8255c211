// An outcome that is set once and consumed once, by different threads: behind then() and
// coroutines.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "godwit/call_handle.hpp"
#include "godwit/codec.hpp"
#include "godwit/detail/ref_traits.hpp"
#include "godwit/outcome.hpp"

namespace godwit {
template <class R>
class Future;
}

namespace godwit::detail {

// The value behind a raw result type: Outcome<T> counts as T.
template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<Outcome<T>> {
  using type = T;
};

// For use inside a catch block.
template <class R>
Outcome<R> failed_with_exception() {
  Failure failure{Ending::app_error, ErrorCode::app_error, true, "unknown exception"};
  try {
    throw;
  } catch (const std::exception& error) {
    failure.message = error.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing more is known
  }
  return tl::unexpected(std::move(failure));
}

// Gives a result that will be large its memory before it is decoded, in huge pages where the system
// has them: fresh memory of that size costs as much as the call otherwise.
template <class R>
void prepare_result([[maybe_unused]] R& value, [[maybe_unused]] std::size_t blob_bytes) {
  if constexpr (requires {
                  value.reserve(0);
                  typename Codec<R>::Element;
                }) {
    // From here on malloc maps each block by itself, so that the advice ends with the block.
    constexpr std::size_t kMappedByItself = std::size_t{32} << 20;
    if (blob_bytes < kMappedByItself) return;
    value.reserve((blob_bytes - sizeof(Descriptor)) / sizeof(typename Codec<R>::Element));
    advise_large(value.data(), blob_bytes - sizeof(Descriptor));
  }
}

// What an ended call says, as a typed outcome. Views in R would dangle: R owns its memory.
template <class R>
Outcome<R> outcome_of(CallHandle call) {
  const Blob* const result = call.result_if_ok();
  if (result == nullptr) return tl::unexpected(call.failure());
  if constexpr (std::is_void_v<R>) {
    return {};
  } else if constexpr (kIsRef<R>) {
    return R::of_result(call, *result);
  } else {
    static_assert(!std::is_same_v<R, std::string_view>,
                  "godwit: ask for std::string: the bytes of a result go with the future");
    Outcome<R> outcome(tl::in_place);  // decoded where the caller will find it
    prepare_result(*outcome, result->size());
    DecodeError error;
    if (!decode_result(*result, *outcome, error)) {
      outcome = tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                       std::string("the result does not decode: ") + error.what});
    }
    return outcome;
  }
}

template <class R>
class SharedOutcome {
 public:
  void set(Outcome<R> outcome) {
    Continuation* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      outcome_.emplace(std::move(outcome));
      next = std::exchange(continuation_, nullptr);
    }
    changed_.notify_all();
    if (next != nullptr) next->run();
  }
  [[nodiscard]] bool ready() const {
    const std::lock_guard lock(mutex_);
    return outcome_.has_value();
  }
  bool wait_for(std::chrono::nanoseconds at_most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return outcome_.has_value(); });
  }
  Outcome<R> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return outcome_.has_value(); });
    return *std::move(outcome_);
  }
  // Runs on the thread that sets the outcome, which is one of the executor's; at once if it is set.
  void attach(Continuation& continuation) {
    {
      const std::lock_guard lock(mutex_);
      if (!outcome_) {
        continuation_ = &continuation;
        return;
      }
    }
    continuation.run();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Outcome<R>> outcome_;
  Continuation* continuation_ = nullptr;
};

template <class R>
struct FuturePromiseBase {
  std::shared_ptr<SharedOutcome<R>> shared = std::make_shared<SharedOutcome<R>>();
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { shared->set(failed_with_exception<R>()); }
};

template <class R>
struct FuturePromise : FuturePromiseBase<R> {
  Future<R> get_return_object();
  template <class U>
  void return_value(U&& value) {
    this->shared->set(Outcome<R>(std::forward<U>(value)));
  }
};
template <>
struct FuturePromise<void> : FuturePromiseBase<void> {
  Future<void> get_return_object();
  void return_void() { shared->set({}); }
};

}  // namespace godwit::detail
