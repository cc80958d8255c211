// Ownership of objects: one owner, many readers or one writer, and nothing left behind.
//
//   auto model = godwit::Owned<double[]>::put(fleet.node(2), weights).value();
//   auto reader = model.borrow().value();             // counted at the home; others may borrow too
//   { auto writer = ...borrow_mut(); }                // refused while anybody reads
//   auto offer = model.offer().value();               // send this to its next owner
//
// The object's home keeps the account, so it holds between processes, and a process that dies is
// taken off it: what it owned ends, what it had borrowed is free again. Until an offer has been
// accepted the owner is who it was; bytes of an offer that get lost lose nothing.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/ref.hpp"

namespace godwit {

namespace detail {

// What is lent is the object, so a Ref of an older version leads to the newest one, which stays
// that for as long as the borrow lives, but for what its writer publishes.
template <class T>
struct Lent {
  Ref<T> newest;
  std::uint64_t borrow;
};

template <class T>
[[nodiscard]] Result<Lent<T>> lend(const Ref<T>& ref, bool to_write) {
  auto borrow = ref.door().borrow(ref.handle(), to_write);
  if (!borrow) return tl::unexpected(std::move(borrow).error());
  auto newest = ref.latest();
  if (!newest) {
    ref.door().give_back(ref.handle(), *borrow);
    return tl::unexpected(std::move(newest).error());
  }
  // The one that came may be resolved already.
  return Lent<T>{*newest == ref ? ref : *std::move(newest), *borrow};
}

inline tl::unexpected<Error> has_nothing(std::string_view which) {
  return tl::unexpected(Error{ErrorCode::invalid_argument, std::string(which)});
}

}  // namespace detail

// An object lent to this process for reading. Move-only; ends with it. While it lives nobody
// changes or ends the object. Any thread may read by it, several at a time, while none moves or
// ends it. One that was moved from has nothing: resolve() returns invalid_argument, and it may not
// be dereferenced.
template <class T>
class Borrowed {
 public:
  // Anybody who has a Ref of any version may borrow; it is the newest that is lent. Errors:
  // borrowed (somebody writes), and those of resolve().
  [[nodiscard]] static Result<Borrowed> from(const Ref<T>& ref) {
    auto lent = detail::lend(ref, false);
    if (!lent) return tl::unexpected(std::move(lent).error());
    return Borrowed(std::move(lent->newest), lent->borrow);
  }
  Borrowed(Borrowed&& other) noexcept
      : ref_(other.ref_), borrow_(std::exchange(other.borrow_, 0)) {}
  Borrowed& operator=(Borrowed&& other) noexcept {
    if (this != &other) {
      give_back();
      ref_ = other.ref_;
      borrow_ = std::exchange(other.borrow_, 0);
    }
    return *this;
  }
  ~Borrowed() { give_back(); }

  // As of a Ref: the value, which is const. Beyond 16 KiB, on its home's host, it is in memory that
  // is mapped for reading, and the hardware refuses a write, too. What is smaller, or came over a
  // network, is a copy of this process's own: who casts the const away changes it for all that read
  // it here, and for nobody else.
  [[nodiscard]] decltype(auto) operator*() const {
    assert(borrow_ != 0);
    return *ref_;
  }
  [[nodiscard]] auto operator->() const {
    assert(borrow_ != 0);
    return ref_.operator->();
  }
  [[nodiscard]] Result<Pinned<T>> resolve() const {
    if (borrow_ == 0) return detail::has_nothing("this Borrowed has nothing: it was moved from");
    return ref_.resolve();
  }
  [[nodiscard]] const Ref<T>& ref() const noexcept { return ref_; }

 private:
  Borrowed(Ref<T> ref, std::uint64_t borrow) : ref_(std::move(ref)), borrow_(borrow) {}
  void give_back() noexcept {
    if (borrow_ != 0) ref_.door().give_back(ref_.handle(), std::exchange(borrow_, 0));
  }

  Ref<T> ref_;
  std::uint64_t borrow_;
};

// An object lent to this process for writing, to nobody else at the same time. Move-only; one
// thread at a time. What `*writer` gave stays until the next update(), unless a Pinned or a copy of
// ref() keeps it. One that was moved from has nothing: update() returns invalid_argument, and it
// may not be dereferenced.
template <class T>
class BorrowedMut {
 public:
  // As of Borrowed; it need not be the owner who writes. Errors: borrowed (by whom), permission
  // (the handle does not allow to write), and those of a Ref.
  [[nodiscard]] static Result<BorrowedMut> from(const Ref<T>& ref) {
    auto lent = detail::lend(ref, true);
    if (!lent) return tl::unexpected(std::move(lent).error());
    return BorrowedMut(std::move(lent->newest), lent->borrow);
  }
  BorrowedMut(BorrowedMut&& other) noexcept
      : ref_(other.ref_), borrow_(std::exchange(other.borrow_, 0)) {}
  BorrowedMut& operator=(BorrowedMut&&) = delete;
  ~BorrowedMut() {
    if (borrow_ != 0) ref_.door().give_back(ref_.handle(), borrow_);
  }

  [[nodiscard]] decltype(auto) operator*() const {
    assert(borrow_ != 0);
    return *ref_;
  }
  [[nodiscard]] auto operator->() const {
    assert(borrow_ != 0);
    return ref_.operator->();
  }
  // Publishes a new version; readers of the one before keep it. Nobody else does while this lives,
  // the owner neither. Errors: not_found (the home has taken this process for dead meanwhile), and
  // those of Ref::update().
  template <class V>
  Status update(const V& value) {
    return update_with([&](const Ref<T>& newest, std::uint64_t borrow) {
      return newest.update_by(borrow, value);
    });
  }
  // The newest version.
  [[nodiscard]] const Ref<T>& ref() const noexcept { return ref_; }

  // For the library: `publish` makes a newer version.
  template <class Publish>
  Status update_with(const Publish& publish) {
    // Without the number it would be an update like any other, of what somebody else may borrow.
    if (borrow_ == 0) return detail::has_nothing("this BorrowedMut has nothing: it was moved from");
    auto next = publish(ref_, borrow_);
    if (!next) return tl::unexpected(std::move(next).error());
    ref_ = *std::move(next);
    return {};
  }

 private:
  BorrowedMut(Ref<T> ref, std::uint64_t borrow) : ref_(std::move(ref)), borrow_(borrow) {}

  Ref<T> ref_;
  std::uint64_t borrow_;
};

// Ownership on its way to another process: a handle and a number, which travel in any way.
struct OwnershipOffer {
  Handle handle;
  std::uint64_t number = 0;

  // "gdw://...#NUMBER"
  [[nodiscard]] std::string to_text() const {
    return handle.to_text() + "#" + std::to_string(number);
  }
  // Errors: bad_format.
  [[nodiscard]] GODWIT_API static Result<OwnershipOffer> parse(std::string_view text);
};

// The one owner of an object, which ends with it. Move-only; one thread at a time. If it is
// borrowed at that moment, it ends with the last borrow.
//
// It owns the object, not one version of it: whatever it does, it does to the newest, whoever
// published that, here or in another process. That takes a question to the home each time, on its
// host mostly a look at memory; who reads often borrows.
//
// After release(), or once it was moved from, it owns nothing: all that return a Result return
// invalid_argument then, `*owned` throws it as a ResolveError, and its end ends nothing.
template <class T>
class Owned {
 public:
  static constexpr std::chrono::seconds kOfferTime{60};

  template <class V>
  [[nodiscard]] static Result<Owned> put(const NodeHandle& node, const V& value,
                                         const PutOptions& options = {}) {
    const detail::ObjectDoor door(node.objects());
    auto handle = detail::with_encoded<T>(value, [&](detail::ObjectParts parts) {
      return door.put(
          node.id(),
          {.type = detail::ObjectCodec<T>::type_hash(), .options = options, .owned = true}, parts);
    });
    if (!handle) return tl::unexpected(std::move(handle).error());
    auto ref = Ref<T>::from(door, *handle);
    if (!ref) return tl::unexpected(std::move(ref).error());
    return Owned(*std::move(ref));
  }
  // Takes an object that nobody owns. Errors: permission (somebody does).
  [[nodiscard]] static Result<Owned> take(const Ref<T>& ref) {
    if (const Status owned = ref.door().own(ref.handle()); !owned) {
      return tl::unexpected(owned.error());
    }
    return Owned(ref);
  }
  // Takes what another process offers; from here on it is ours, and no longer the other's. Errors:
  // not_found (the time is up, or somebody else has taken it), type_mismatch.
  [[nodiscard]] static Result<Owned> accept(const Fleet& fleet, const OwnershipOffer& offer) {
    auto ref = Ref<T>::from(fleet, offer.handle);
    if (!ref) return tl::unexpected(std::move(ref).error());
    if (const Status taken = ref->door().accept(offer.handle, offer.number); !taken) {
      return tl::unexpected(taken.error());
    }
    return Owned(*std::move(ref));
  }

  Owned(Owned&& other) noexcept : ref_(std::exchange(other.ref_, std::nullopt)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      drop();
      ref_ = std::exchange(other.ref_, std::nullopt);
    }
    return *this;
  }
  ~Owned() { drop(); }

  // The newest value. Both throw ResolveError if it cannot be had. It stays until the next use of
  // this Owned after somebody has published another; what is borrowed or resolved stays longer.
  [[nodiscard]] decltype(auto) operator*() const { return *newest(); }
  [[nodiscard]] auto operator->() const { return newest().operator->(); }
  [[nodiscard]] Result<Pinned<T>> resolve() const {
    for (int attempt = 1;; ++attempt) {
      if (const Status known = refresh(); !known) return tl::unexpected(known.error());
      auto pinned = ref_->resolve();
      // A quick writer: nobody had kept the version that was the newest a moment ago.
      const bool missed = !pinned && pinned.error().code == ErrorCode::stale;
      if (!missed || attempt == kAttempts) return pinned;
    }
  }
  // To be given to readers; it keeps nothing alive. Of the newest version, or, if the home does not
  // answer, of the last one that this has seen. Not of one that owns nothing.
  [[nodiscard]] Ref<T> ref() const {
    assert(ref_);
    static_cast<void>(refresh());
    return *ref_;
  }

  [[nodiscard]] Result<Borrowed<T>> borrow() const {
    if (!ref_) return owns_nothing();
    return Borrowed<T>::from(*ref_);
  }
  [[nodiscard]] Result<BorrowedMut<T>> borrow_mut() const {
    if (!ref_) return owns_nothing();
    return BorrowedMut<T>::from(*ref_);
  }
  // Publishes a new version after the newest. Errors: borrowed; stale (others were quicker twice).
  template <class V>
  Status update(const V& value) {
    return update_with([&](const Ref<T>& newest) { return newest.update(value); });
  }
  // Another object with the same value, at the same home.
  [[nodiscard]] Result<Owned> clone() const {
    auto pinned = resolve();
    if (!pinned) return tl::unexpected(std::move(pinned).error());
    const std::span<const std::byte> bytes = pinned->bytes();
    auto handle =
        ref_->door().put(ref_->home(), {.type = ref_->handle().type, .owned = true}, {&bytes, 1});
    if (!handle) return tl::unexpected(std::move(handle).error());
    auto ref = Ref<T>::from(ref_->door(), *handle);
    if (!ref) return tl::unexpected(std::move(ref).error());
    return Owned(*std::move(ref));
  }

  // Offers it to whoever gets the result, for some time; a later offer replaces it. This stays the
  // owner until it has been accepted. Then it owns nothing any more, and its end ends nothing.
  [[nodiscard]] Result<OwnershipOffer> offer(std::chrono::nanoseconds time = kOfferTime) const {
    if (!ref_) return owns_nothing();
    auto number = ref_->door().offer(ref_->handle(), time);
    if (!number) return tl::unexpected(std::move(number).error());
    return OwnershipOffer{ref_->handle(), *number};
  }
  // Gives ownership up: the object lives on, as its lifetime says.
  [[nodiscard]] Result<Ref<T>> release() {
    if (!ref_) return owns_nothing();
    if (const Status done = ref_->door().disown(ref_->handle()); !done) {
      return tl::unexpected(done.error());
    }
    Ref<T> last = ref();
    ref_.reset();
    return last;
  }

  // For the library: of an object that was made with an owner; and `publish` makes a newer version.
  [[nodiscard]] static Owned of_new(Ref<T> ref) { return Owned(std::move(ref)); }
  template <class Publish>
  Status update_with(const Publish& publish) {
    if (!ref_) return owns_nothing();
    auto next = publish(*ref_);
    // Who had borrowed it for writing has published one.
    if (!next && next.error().code == ErrorCode::stale) {
      if (const Status known = refresh(); !known) return known;
      next = publish(*ref_);
    }
    if (!next) return tl::unexpected(std::move(next).error());
    ref_ = *std::move(next);
    return {};
  }

 private:
  static constexpr int kAttempts = 8;

  explicit Owned(Ref<T> ref) : ref_(std::move(ref)) {}
  static tl::unexpected<Error> owns_nothing() {
    return detail::has_nothing("this Owned owns nothing: it was released or moved from");
  }
  // What this version has resolved stays, if it is still the newest.
  [[nodiscard]] Status refresh() const {
    if (!ref_) return owns_nothing();
    auto newest = ref_->latest();
    if (!newest) return tl::unexpected(std::move(newest).error());
    if (*newest != *ref_) ref_ = *std::move(newest);
    return {};
  }
  // Resolved, and kept so.
  [[nodiscard]] const Ref<T>& newest() const {
    if (auto pinned = resolve(); !pinned) throw ResolveError(std::move(pinned).error());
    return *ref_;
  }
  // The home knows who owns it: if somebody has accepted it meanwhile, this does nothing.
  void drop() noexcept {
    if (ref_) ref_->door().drop_owned(ref_->handle());
    ref_.reset();
  }

  mutable std::optional<Ref<T>> ref_;  // of the newest version that is known here
};

}  // namespace godwit
