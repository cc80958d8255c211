// Calls that mobile code makes: what they are named by, wait for and end in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __cpp_exceptions
#include <exception>
#endif
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/codec.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/types.hpp"

namespace godwit {

// A node of the fleet, by its id; id 0 is no node. Travels like any struct.
struct Node {
  std::uint64_t id = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return id != 0; }
  friend bool operator==(const Node&, const Node&) = default;
};
GODWIT_STRUCT(Node, id);

// A bundle, by the hash of what is in it. Travels like any array.
using CodeId = std::array<std::uint8_t, 32>;

// A message kept with a failure; longer ones are cut.
class FailureText {
 public:
  static constexpr std::size_t kLimit = 191;

  FailureText() noexcept = default;
  explicit FailureText(std::string_view text) noexcept
      : size_(text.size() < kLimit ? text.size() : kLimit) {
    if (size_ > 0) std::memcpy(chars_, text.data(), size_);
    chars_[size_] = '\0';
  }
  [[nodiscard]] const char* c_str() const noexcept { return chars_; }
  [[nodiscard]] std::string_view view() const noexcept { return {chars_, size_}; }

 private:
  std::size_t size_ = 0;
  char chars_[kLimit + 1] = {};
};

#ifdef __cpp_exceptions
// Thrown by Pending::get(), Here::build() and Here::region(). Escaping an exported function it
// becomes app_error.
class CallFailed : public std::exception {
 public:
  CallFailed(std::int32_t ending, std::uint32_t reason, bool may_have_started,
             std::string_view message) noexcept
      : text_(message), ending_(ending), reason_(reason), may_have_started_(may_have_started) {}

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::int32_t ending() const noexcept { return ending_; }   // GODWIT_ENDED_...
  [[nodiscard]] std::uint32_t reason() const noexcept { return reason_; }  // a godwit::ErrorCode
  [[nodiscard]] bool may_have_started() const noexcept { return may_have_started_; }

 private:
  FailureText text_;
  std::int32_t ending_;
  std::uint32_t reason_;
  bool may_have_started_;
};
#endif

// A function to call: of the caller's own bundle, of one that build() made, or of one that
// Here::function() has found. Borrows the name and the bundle's id.
template <class Function>
struct FunctionRef {
  std::string_view name;
  const CodeId* bundle = nullptr;

  [[nodiscard]] godwit_function_ref abi() const noexcept {
    return {bundle == nullptr ? nullptr : bundle->data(), name.data(), name.size()};
  }
};

namespace detail {

template <auto Function>
constexpr std::string_view export_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;  // contains "Function = &space::name" and ; or ]
  text.remove_prefix(text.find("Function = "));
  text = text.substr(0, text.find_first_of(";]"));
  std::size_t start = text.size();
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (start > 0 && is_word(text[start - 1])) --start;
  return text.substr(start);
}

// The ErrorCodes that this header itself reports.
inline constexpr std::uint32_t kTypeMismatch = 3;
inline constexpr std::uint32_t kDeadline = 15;
inline constexpr std::int32_t kOutOfMemory = 102;
inline constexpr std::int32_t kUnsupported = 304;

inline constexpr std::size_t kCallScratchBytes = 512;

template <class R>
inline constexpr bool kPointsIntoBlob = false;
template <>
inline constexpr bool kPointsIntoBlob<std::string_view> = true;
template <class T>
inline constexpr bool kPointsIntoBlob<std::span<const T>> = true;

// Encodes arguments as a function's parameters and hands the parts to `send(parts, count)`, which
// returns an ErrorCode.
template <class Sig>
struct Arguments;
template <class R, class... Params>
struct Arguments<TypedSignature<R, Params...>> {
  template <class Send>
  static std::int32_t with_parts(Send&& send, Passed<Params>... args) {
    alignas(kBlobAlign) std::byte scratch[kCallScratchBytes];
    const EncoderFor<Params...> encoder(scratch, args...);
    if (!encoder.ok()) return kOutOfMemory;
    godwit_bytes parts[2 * sizeof...(Params) + 1];
    std::size_t count = 0;
    for (const auto part : encoder.parts()) parts[count++] = {part.data(), part.size()};
    return send(static_cast<const godwit_bytes*>(parts), count);
  }
};

template <class R>
struct OutcomeValue {
  R value{};  // if ok
};
template <>
struct OutcomeValue<void> {};

}  // namespace detail

template <auto Function>
inline constexpr FunctionRef<decltype(Function)> function_ref = {
    .name = detail::export_name<Function>(), .bundle = nullptr};

// How a call ended. `message`, and a value that is a view, are valid while its Pending lives.
template <class R>
struct CallOutcome : detail::OutcomeValue<R> {
  std::int32_t ending = GODWIT_ENDED_REJECTED;
  std::uint32_t reason = 0;  // a godwit::ErrorCode, when not ok
  bool may_have_started = false;
  std::string_view message;

  [[nodiscard]] explicit operator bool() const noexcept { return ending == GODWIT_ENDED_OK; }
};

// A call under way. Destroying it forgets the call, and cancels it if it has not ended. Use it from
// one thread at a time, and not after the exported function returned.
template <class R>
class [[nodiscard]] Pending {
 public:
  Pending() noexcept = default;
  Pending(const godwit_here_v1* here, std::int32_t error, std::uint64_t handle) noexcept
      : here_(here), handle_(handle), error_(error) {
    if (error != 0) failure_ = FailureText(here->last_error(here));
  }
  Pending(Pending&& other) noexcept { *this = std::move(other); }
  Pending& operator=(Pending&& other) noexcept {
    if (this == &other) return *this;
    release();
    here_ = std::exchange(other.here_, nullptr);
    handle_ = other.handle_;
    error_ = other.error_;
    failure_ = other.failure_;
    return *this;
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { release(); }

  // Waits for the end, at most until the deadline of the call this code runs in. Never throws but
  // for the value's own allocation.
  [[nodiscard]] CallOutcome<R> outcome() {
    CallOutcome<R> result;
    if (here_ == nullptr) {
      result.message = "no call was made";
      return result;
    }
    godwit_outcome ended{};
    bool started = false;
    if (error_ == 0) {
      error_ = here_->wait(here_, handle_, &ended);
      if (error_ != 0) failure_ = FailureText(here_->last_error(here_));
      started = true;
    }
    if (error_ != 0) {
      result.reason = static_cast<std::uint32_t>(error_);
      if (result.reason == detail::kDeadline) result.ending = GODWIT_ENDED_DEADLINE;
      result.may_have_started = started;
      result.message = failure_.view();
      return result;
    }
    result.ending = ended.ending;
    result.reason = ended.reason;
    result.may_have_started = ended.may_have_started != 0;
    const auto* data = static_cast<const std::byte*>(ended.data);
    if (ended.ending != GODWIT_ENDED_OK) {
      result.message = {reinterpret_cast<const char*>(data), ended.size};
    } else if constexpr (!std::is_void_v<R>) {
      DecodeError error;
      if (!decode_result({data, ended.size}, result.value, error)) {
        result.ending = GODWIT_ENDED_REJECTED;
        result.reason = detail::kTypeMismatch;
        result.may_have_started = true;
        result.message = error.what;
      }
    }
    return result;
  }

#ifdef __cpp_exceptions
  // Waits, and returns the value or throws CallFailed.
  R get() & { return take(); }
  R get() && {
    static_assert(!detail::kPointsIntoBlob<R>,
                  "godwit: the result is a view into the reply; keep the Pending while it is used");
    return take();
  }
#endif

 private:
#ifdef __cpp_exceptions
  R take() {
    CallOutcome<R> result = outcome();
    if (!result) {
      throw CallFailed(result.ending, result.reason, result.may_have_started, result.message);
    }
    if constexpr (!std::is_void_v<R>) return std::move(result.value);
  }
#endif
  void release() noexcept {
    if (here_ != nullptr && handle_ != 0) here_->release(here_, handle_);
    here_ = nullptr;
    handle_ = 0;
  }

  const godwit_here_v1* here_ = nullptr;
  std::uint64_t handle_ = 0;
  std::int32_t error_ = 0;
  FailureText failure_;
};

#ifdef __cpp_exceptions
// Waits for all: results[i] is that of calls[i]. Throws the first failure in order; the calls
// behind it are then cancelled when their Pendings go. Both spans have the same size.
template <class R>
void join(std::span<Pending<R>> calls, std::span<R> results) {
  for (std::size_t i = 0; i < calls.size() && i < results.size(); ++i) results[i] = calls[i].get();
}
inline void join(std::span<Pending<void>> calls) {
  for (Pending<void>& call : calls) call.get();
}
// Waits for calls of different kinds, none of them void.
template <class... R>
std::tuple<R...> join(Pending<R>&... calls) {
  return std::tuple<R...>{calls.get()...};
}
#endif

// Where a travelling call goes on: returned by Here::continue_at(), to be returned at once.
template <class T>
struct Hop {
  std::int32_t error = 0;  // the node refused; it then ends the call as app_error
};

// A result that the node writes itself, or will once it has it, by running the function again:
// returned by the verbs of Here that do so, to be returned at once.
template <class T>
struct LeftToNode {
  std::int32_t verb = 0;  // what the verb returned

  [[nodiscard]] std::int32_t status() const noexcept {
    return verb == GODWIT_NOT_YET ? GODWIT_AGAIN : GODWIT_ANSWERED;
  }
  [[nodiscard]] std::int32_t error() const noexcept { return verb == GODWIT_NOT_YET ? 0 : verb; }
};

// The result of a function that may continue elsewhere: a value, a hop, or what the node says.
template <class T>
class Next {
 public:
  Next(T value) : value_(std::move(value)) {}                                          // NOLINT
  Next(Hop<T> hop) noexcept : status_(GODWIT_CONTINUE), error_(hop.error) {}           // NOLINT
  Next(LeftToNode<T> left) noexcept : status_(left.status()), error_(left.error()) {}  // NOLINT
  [[nodiscard]] std::int32_t status() const noexcept { return status_; }
  [[nodiscard]] std::int32_t error() const noexcept { return error_; }
  [[nodiscard]] const T& value() const noexcept { return value_; }

 private:
  T value_{};
  std::int32_t status_ = GODWIT_OK;  // of the entry
  std::int32_t error_ = 0;           // of the verb that was to bring it about
};

// `return {};` ends the call.
template <>
class Next<void> {
 public:
  Next() noexcept = default;
  Next(Hop<void> hop) noexcept : status_(GODWIT_CONTINUE), error_(hop.error) {}  // NOLINT
  [[nodiscard]] std::int32_t status() const noexcept { return status_; }
  [[nodiscard]] std::int32_t error() const noexcept { return error_; }

 private:
  std::int32_t status_ = GODWIT_OK;
  std::int32_t error_ = 0;
};

}  // namespace godwit
