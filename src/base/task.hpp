// A move-only callable with room for a small capture, so that posting work does not allocate.
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace godwit {

template <class Signature>
class UniqueFunction;

// std::move_only_function, which our standard library lacks. Captures up to kInlineSize bytes are
// stored inline; larger ones allocate.
template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  static constexpr std::size_t kInlineSize = 48;

  UniqueFunction() noexcept = default;

  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  UniqueFunction(F&& callable) {  // NOLINT(google-explicit-constructor): a lambda is a task
    using Callable = std::decay_t<F>;
    if constexpr (fits<Callable>()) {
      ::new (static_cast<void*>(storage_)) Callable(std::forward<F>(callable));
    } else {
      ::new (static_cast<void*>(storage_)) Callable*(new Callable(std::forward<F>(callable)));
    }
    verbs_ = &kVerbs<Callable>;
  }

  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  UniqueFunction(const UniqueFunction&) = delete;
  UniqueFunction& operator=(const UniqueFunction&) = delete;
  ~UniqueFunction() { reset(); }

  explicit operator bool() const noexcept { return verbs_ != nullptr; }
  // Not to be called while empty.
  R operator()(Args... args) {
    assert(verbs_ != nullptr);
    return verbs_->invoke(storage_, std::forward<Args>(args)...);
  }

 private:
  struct Verbs {
    R (*invoke)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };

  template <class Callable>
  static constexpr bool fits() {
    return sizeof(Callable) <= kInlineSize && alignof(Callable) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<Callable>;
  }
  template <class Callable>
  static Callable& stored(void* storage) noexcept {
    if constexpr (fits<Callable>()) {
      return *std::launder(static_cast<Callable*>(storage));
    } else {
      return **std::launder(static_cast<Callable**>(storage));
    }
  }
  template <class Callable>
  static constexpr Verbs kVerbs{[](void* storage, Args&&... args) -> R {
                                  return std::invoke(stored<Callable>(storage),
                                                     std::forward<Args>(args)...);
                                },
                                [](void* from, void* to) noexcept {
                                  if constexpr (fits<Callable>()) {
                                    ::new (to) Callable(std::move(stored<Callable>(from)));
                                    stored<Callable>(from).~Callable();
                                  } else {
                                    ::new (to) Callable*(&stored<Callable>(from));
                                  }
                                },
                                [](void* storage) noexcept {
                                  if constexpr (fits<Callable>()) {
                                    stored<Callable>(storage).~Callable();
                                  } else {
                                    delete &stored<Callable>(storage);
                                  }
                                }};

  void take(UniqueFunction& other) noexcept {
    if (other.verbs_ != nullptr) {
      other.verbs_->move(other.storage_, storage_);
      verbs_ = std::exchange(other.verbs_, nullptr);
    }
  }
  void reset() noexcept {
    if (verbs_ != nullptr) std::exchange(verbs_, nullptr)->destroy(storage_);
  }

  alignas(std::max_align_t) std::byte storage_[kInlineSize];
  const Verbs* verbs_ = nullptr;
};

using Task = UniqueFunction<void()>;

}  // namespace godwit
