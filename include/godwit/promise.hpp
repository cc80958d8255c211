// Objects that are promised before they are there.
//
//   auto promise = godwit::Promise<double[]>::make(fleet.node(1)).value();
//   send(promise.ref().handle().to_text());             // consumers may have it, and wait, already
//   promise.set(result);                                // they are told at once: nobody polls
//
// Whoever waits hears of the value or of the error. A promise that is destroyed without either, or
// whose process dies, is an error for its consumers: nobody waits for what will never come.
#pragma once

#include <cassert>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "godwit/ref.hpp"

namespace godwit {

struct PromiseOptions {
  PutOptions object{};
  // After so long it is broken, with `deadline`. Zero: it may take as long as its producer lives.
  std::chrono::nanoseconds at_most{};
};

// The producer's side. Move-only; one thread at a time. After set(), fail() or hand_over(), or once
// it was moved from, it is over: set() and fail() return already_exists, and its end breaks
// nothing.
template <class T>
class Promise {
  using Codec = detail::ObjectCodec<T>;

 public:
  // Asks the home, which keeps nothing but the promise. Errors: invalid_argument (a lifetime or
  // `at_most` that is over before it begins), unsupported (it is to persist, and its home has no
  // object_dir), resource_exhausted (the home's max_objects), node_lost and unreachable.
  [[nodiscard]] static Result<Promise> make(const NodeHandle& node,
                                            const PromiseOptions& options = {}) {
    const detail::ObjectDoor door(node.objects());
    auto handle = door.promise(node.id(), {.type = Codec::type_hash(), .options = options.object},
                               options.at_most);
    if (!handle) return tl::unexpected(std::move(handle).error());
    auto ref = Ref<T>::from(door, *handle);
    if (!ref) return tl::unexpected(std::move(ref).error());
    return Promise(*std::move(ref));
  }
  // Takes it over from the process that made it, which no longer answers for it: if that one dies,
  // nothing is broken. Errors: already_exists (it was kept, broken or cancelled before), not_found
  // (it was broken or its lifetime was over long ago), permission (the handle does not allow to
  // write), node_lost and unreachable.
  [[nodiscard]] static Result<Promise> take_over(const Ref<T>& ref) {
    if (const Status taken = ref.door().take_over(ref.handle()); !taken) {
      return tl::unexpected(taken.error());
    }
    return Promise(ref);
  }

  Promise(Promise&& other) noexcept : ref_(std::exchange(other.ref_, std::nullopt)) {}
  Promise& operator=(Promise&&) = delete;
  ~Promise() {
    if (ref_) abandon();
  }

  // What consumers get: Ref::wait() and wait_later() wait for it. Not of one that is over.
  [[nodiscard]] const Ref<T>& ref() const noexcept {
    assert(ref_);
    return *ref_;
  }

  // Keeps the promise. Errors: already_exists (it was kept, broken or cancelled before). After any
  // error it is not over: it can be tried again, or broken.
  template <class V>
  [[nodiscard]] Result<Ref<T>> set(const V& value) {
    return set_with([&](const Ref<T>& promised) {
      return detail::with_encoded<T>(value, [&](detail::ObjectParts parts) {
        return promised.door().fulfil(promised.handle(), parts);
      });
    });
  }
  // Breaks it: consumers get this error. Whatever comes back, it is over for this process. Errors:
  // already_exists (it was kept, broken or cancelled before, which stands), not_found, node_lost
  // and unreachable (the home is gone, and consumers are told that).
  Status fail(ErrorCode code, std::string_view why) {
    if (!ref_) return is_over();
    const Ref<T> promised = *std::exchange(ref_, std::nullopt);
    promised.door().forget_promise(promised.handle());
    return promised.door().break_promise(promised.handle(), code, why);
  }
  // Another process takes it over, with the Ref. Not of one that is over.
  [[nodiscard]] Ref<T> hand_over() {
    assert(ref_);
    const Ref<T> promised = *std::exchange(ref_, std::nullopt);
    promised.door().forget_promise(promised.handle());
    return promised;
  }

  // For the library: `fulfil` keeps it, and returns the handle.
  template <class Fulfil>
  [[nodiscard]] Result<Ref<T>> set_with(const Fulfil& fulfil) {
    if (!ref_) return is_over();
    auto handle = fulfil(*ref_);
    if (!handle) return tl::unexpected(std::move(handle).error());
    const Ref<T> promised = *std::exchange(ref_, std::nullopt);
    promised.door().forget_promise(promised.handle());
    return Ref<T>::from(promised.door(), *handle);
  }

 private:
  explicit Promise(Ref<T> ref) : ref_(std::move(ref)) {}
  static tl::unexpected<Error> is_over() {
    return tl::unexpected(
        Error{ErrorCode::already_exists,
              "this promise was kept, broken or handed over before, or it was moved from"});
  }
  void abandon() noexcept {
    // The home may be gone, and then its consumers know.
    static_cast<void>(fail(ErrorCode::cancelled, "its producer gave the promise up"));
  }

  std::optional<Ref<T>> ref_;
};

// Tells the producer and all who wait that nobody wants the object any more: they get `cancelled`,
// the producer from set(). Errors: already_exists (it was kept or broken before), permission (the
// handle does not allow to write), not_found, node_lost and unreachable.
template <class T>
Status cancel(const Ref<T>& promised) {
  return promised.door().break_promise(promised.handle(), ErrorCode::cancelled,
                                       "it was cancelled by a consumer");
}

}  // namespace godwit
