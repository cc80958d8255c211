// References: handles on objects that live anywhere in the fleet, and are there when they are used.
//
//   auto x = fleet.node(2).put(samples).value();      // Ref<double[]>: the bytes stay on node 2
//   for (double sample : *x) ...                      // resolved here, at the first use
//   std::string text = x.handle().to_text();          // and anywhere else, with the text alone
//   auto y = godwit::Ref<double[]>::parse(fleet, text).value();
//
// An object is a value of one type (docs/types.md): a plain one is read where it lies, an array of
// plain ones too, anything else is decoded once. It does not change: update() publishes a new
// version under the same id, and whoever has resolved the one before keeps it.
//
// Reading costs what the distance costs: an object of this host is mapped, not copied, however
// large it is, but for those of up to 16 KiB, which are quicker copied. What a Ref has resolved
// stays readable for as long as a copy of the Ref, or a Pinned, lives, also when the object is
// evicted meanwhile.
//
// Errors, of all that return Result: not_found (it was evicted, its lifetime is over, or its home
// was started anew), permission (the handle was changed, or its rights do not suffice), stale (that
// version is gone: latest() names the newest), type_mismatch, node_lost and unreachable (its home
// is gone), resource_exhausted (the home's object_budget_mb), deadline. Of all that take a value:
// too_large (a string, list or map inside it has 2^32 items or more); nothing was sent then.
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/call_handle.hpp"
#include "godwit/detail/object_codec.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/detail/object_parts.hpp"
#include "godwit/detail/turns.hpp"
#include "godwit/error.hpp"
#include "godwit/fleet.hpp"
#include "godwit/future.hpp"
#include "godwit/handle.hpp"
#include "godwit/lifetime.hpp"
#include "godwit/mobile/ref.hpp"
#include "godwit/object_status.hpp"
#include "godwit/outcome.hpp"
#include "godwit/pinned.hpp"
#include "godwit/resolve_path.hpp"

namespace godwit {

template <class T>
class Owned;
template <class T>
class Promise;
namespace detail {
struct RefBatch;  // ref_batch.hpp
}

// A reference. Cheap to copy; any thread; copies share what they have resolved. The fleet outlives
// it. It owns nothing: the object lives as its lifetime says.
template <class T>
class Ref {
 public:
  using Codec = detail::ObjectCodec<T>;

  // A handle that came from somewhere. Errors: type_mismatch; bad_format. The home is not asked.
  [[nodiscard]] static Result<Ref> from(const Fleet& fleet, const Handle& handle) {
    return from(detail::ObjectDoor(fleet.objects()), handle);
  }
  [[nodiscard]] static Result<Ref> parse(const Fleet& fleet, std::string_view text) {
    auto handle = Handle::parse(text);
    if (!handle) return tl::unexpected(std::move(handle).error());
    return from(fleet, *handle);
  }

  [[nodiscard]] const Handle& handle() const noexcept { return state_->handle; }
  // The id of the node that answers for the object, and that node.
  [[nodiscard]] std::uint64_t home() const noexcept { return handle().home; }
  [[nodiscard]] NodeHandle node() const { return {door().caller(), home()}; }
  // As functions take it that resolve it themselves, and as it stands in structs.
  operator HandleOf<T>() const noexcept {  // NOLINT(google-explicit-constructor): the same thing
    return std::bit_cast<HandleOf<T>>(handle());
  }

  // --- The value ---
  // Resolves it, once for all copies of this Ref and whatever threads they are used by.
  [[nodiscard]] Result<Pinned<T>> resolve() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->pinned) return *state_->pinned;
    return keep(state_->door.resolve(state_->handle));
  }
  // The same later, with many under way at a time; a large object over tcp is copied on the fleet's
  // executor. What has come is kept for `*r`, so this is also how to fetch ahead.
  [[nodiscard]] Future<Pinned<T>> resolve_later() const { return later(*this, std::nullopt); }
  // The same of an object that may not be there yet (Promise). The home tells whoever waits; of
  // several threads that wait with copies of this Ref one asks, and nothing else of them is held up
  // meanwhile. Zero: as long as a call may take. Errors: also what the promise was broken with
  // (node_lost: its producer died), and deadline.
  [[nodiscard]] Result<Pinned<T>> wait(std::chrono::nanoseconds at_most) const {
    std::unique_lock lock(state_->mutex);
    if (!state_->turns.take(lock, at_most, [this] { return state_->pinned.has_value(); })) {
      return tl::unexpected(detail::not_in_time(handle()));
    }
    if (state_->pinned) return *state_->pinned;
    const detail::Turns::Mine mine(state_->turns, lock);
    auto view = state_->door.await(handle(), 0, at_most);
    lock.lock();
    return keep(std::move(view));
  }
  // The same later: ref.wait_later(5s).then(...) goes on, on the fleet's executor, when the promise
  // is kept or broken, or the time is up. Thousands may wait: each is a message to the home, which
  // answers once, and no thread here or there. What has come is kept for `*r`. The future needs no
  // copy of the Ref; letting go of it does not end the wait. Each counts as a reader of its own
  // (Lifetime::readers).
  [[nodiscard]] Future<Pinned<T>> wait_later(std::chrono::nanoseconds at_most) const {
    return later(*this, at_most);
  }
  // Both resolve it at the first use, and throw ResolveError if that fails.
  [[nodiscard]] decltype(auto) operator*() const { return *resolved(); }
  [[nodiscard]] auto operator->() const { return resolved().operator->(); }
  [[nodiscard]] bool is_resolved() const {
    const std::lock_guard lock(state_->mutex);
    return state_->pinned.has_value();
  }
  // Lets go of what was resolved; copies of it that were handed out stay. The next use resolves it
  // again.
  void forget() const {
    const std::lock_guard lock(state_->mutex);
    state_->pinned.reset();
  }

  // --- Parts of an array, copied, without the rest ---
  template <class C = Codec>
    requires(C::kIsArray)
  [[nodiscard]] Result<std::vector<typename C::Element>> slice(std::uint64_t first,
                                                               std::uint64_t count) const {
    return strided(first, count, 1);
  }
  // Every step-th element from `first` on; the step is at least 1.
  template <class C = Codec>
    requires(C::kIsArray)
  [[nodiscard]] Result<std::vector<typename C::Element>> strided(std::uint64_t first,
                                                                 std::uint64_t count,
                                                                 std::uint64_t step) const {
    constexpr std::uint64_t kSize = sizeof(typename C::Element);
    if (const Status fits = detail::check_elements(kSize, {first, count, step}); !fits) {
      return tl::unexpected(fits.error());
    }
    const bool together = step == 1;
    return detail::read_parts<typename C::Element>(state_->door, handle(),
                                                   {.offset = first * kSize,
                                                    .bytes = together ? count * kSize : kSize,
                                                    .step = step * kSize,
                                                    .pieces = together ? 1 : count});
  }
  // One field of a plain struct: ref.field(&Particle::energy).
  template <class Field, std::same_as<T> Struct>
    requires(kPlain<Field>)
  [[nodiscard]] Result<Field> field(Field Struct::* member) const {
    auto values = detail::read_parts<Field>(
        state_->door, handle(),
        {.offset = detail::offset_of_member(member), .bytes = sizeof(Field)});
    if (!values) return tl::unexpected(std::move(values).error());
    return values->front();
  }
  // The same field of `count` elements of an array of plain structs, from `first` on.
  template <class Field, class Struct, class C = Codec>
    requires(C::kIsArray && std::same_as<typename C::Element, Struct> && kPlain<Field>)
  [[nodiscard]] Result<std::vector<Field>> field(Field Struct::* member, std::uint64_t first,
                                                 std::uint64_t count) const {
    if (const Status fits = detail::check_elements(sizeof(Struct), {first, count}); !fits) {
      return tl::unexpected(fits.error());
    }
    return detail::read_parts<Field>(
        state_->door, handle(),
        {.offset = first * sizeof(Struct) + detail::offset_of_member(member),
         .bytes = sizeof(Field),
         .step = sizeof(Struct),
         .pieces = count});
  }

  // --- The object, at its home ---
  [[nodiscard]] Result<bool> exists() const { return state_->door.exists(handle()); }
  // Nobody resolves it any more; those who have keep it. Evicting what is gone is fine. Errors:
  // borrowed.
  Status evict() const { return state_->door.evict(handle()); }
  [[nodiscard]] Result<ObjectStatus> status() const { return state_->door.status(handle()); }
  // Which way its bytes would come here, what each way is expected to take, and why.
  [[nodiscard]] Result<ResolveDecision> explain() const { return state_->door.explain(handle()); }
  // From now on; a lease may be made shorter, too.
  Status set_lifetime(const Lifetime& lifetime) const {
    return state_->door.set_lifetime(handle(), lifetime);
  }
  // A pinned object outlives its lifetime, and stays in memory, until it is unpinned or evicted.
  Status pin() const { return state_->door.set_pinned(handle(), true); }
  Status unpin() const { return state_->door.set_pinned(handle(), false); }
  // The same object with fewer rights, to be given away. Needs the right to delegate.
  [[nodiscard]] Result<Ref> restrict_to(Rights rights) const {
    return again(state_->door.restrict_to(handle(), rights));
  }

  // --- Versions ---
  [[nodiscard]] Result<Ref> latest() const { return again(state_->door.newest(handle())); }
  // Publishes a new version after this one, in one step. Errors: stale (somebody was quicker),
  // borrowed (by whoever: also in this process), permission (somebody else owns the object).
  template <class V>
  [[nodiscard]] Result<Ref> update(const V& value) const {
    return update_by(0, value);
  }
  // Waits until there is a newer version than this one, and leads to the newest there is then; what
  // has come with the news is kept for `*r`. Blocks this thread; the home answers once, and nobody
  // polls. Zero: as long as a call may take. Errors: deadline (there was none in that time; ask
  // again), not_found (the object ended meanwhile), overload (too many wait at the home).
  [[nodiscard]] Result<Ref> next_version(std::chrono::nanoseconds at_most) const {
    auto view = state_->door.await(handle(), handle().version, at_most);
    if (!view) return tl::unexpected(std::move(view).error());
    auto next = latest();
    // By then there may be a still newer one; what has come is kept if it is that.
    if (next && next->handle().version == view->version) {
      auto kept = next->keep(std::move(view));
      if (!kept) return tl::unexpected(std::move(kept).error());
    }
    return next;
  }

  friend bool operator==(const Ref& a, const Ref& b) { return a.handle() == b.handle(); }

  [[nodiscard]] static Result<Ref> from(const Fleet& fleet, const HandleOf<T>& handle) {
    return from(fleet, std::bit_cast<Handle>(handle));
  }

  // For the library.
  template <class V>
  [[nodiscard]] Result<Ref> update_by(std::uint64_t borrow, const V& value) const {
    return detail::with_encoded<T>(value, [&](detail::ObjectParts parts) {
      return again(state_->door.update(handle(), parts, borrow));
    });
  }
  [[nodiscard]] static Result<Ref> from(const detail::ObjectDoor& door, const Handle& handle) {
    if (handle.type != Codec::type_hash()) {
      return tl::unexpected(Error{ErrorCode::type_mismatch, "object " + handle.object.short_hex() +
                                                                " is not of the type " +
                                                                std::string(Codec::type())});
    }
    return Ref(door, handle);
  }
  [[nodiscard]] const detail::ObjectDoor& door() const noexcept { return state_->door; }
  // The result of a call that ended well.
  [[nodiscard]] static Outcome<Ref> of_result(const detail::CallHandle& call, detail::Blob result) {
    const auto refuse = [](ErrorCode code, std::string why) {
      return tl::unexpected(Failure{Ending::rejected, code, true, std::move(why)});
    };
    Handle handle;
    if (result.size() < sizeof handle) {
      return refuse(ErrorCode::bad_format, "the result is too short for a handle");
    }
    std::memcpy(&handle, result.data(), sizeof handle);
    auto ref = from(detail::ObjectDoor(call.objects()), handle);
    if (!ref) return refuse(ref.error().code, std::move(ref.error().message));
    return *std::move(ref);
  }

 private:
  friend struct detail::RefBatch;
  struct State {
    detail::ObjectDoor door;
    Handle handle;
    std::mutex mutex;  // of what follows
    std::optional<Pinned<T>> pinned;
    detail::Turns turns;  // of those that wait()
    State(const detail::ObjectDoor& to, const Handle& which) : door(to), handle(which) {}
  };

  Ref(const detail::ObjectDoor& door, const Handle& handle)
      : state_(std::make_shared<State>(door, handle)) {}
  [[nodiscard]] Result<Ref> again(Result<Handle> handle) const {
    if (!handle) return tl::unexpected(std::move(handle).error());
    return Ref(state_->door, *handle);
  }
  // Keeps the Ref it is for: the caller may have let go of it by then. With a time it waits for
  // what is promised.
  [[nodiscard]] static Future<Pinned<T>> later(Ref ref,
                                               std::optional<std::chrono::nanoseconds> at_most) {
    if (auto pinned = ref.kept()) co_return *std::move(pinned);
    const detail::ObjectDoor& door = ref.state_->door;
    const auto asked_at = std::chrono::steady_clock::now();
    detail::CallHandle call =
        at_most ? door.begin_wait(ref.handle(), *at_most) : door.begin_resolve(ref.handle());
    if (call) {
      Outcome<detail::CallHandle> ended =
          co_await Future<detail::CallHandle>(std::move(call), &detail::ended_call);
      call = *std::move(ended);
    }
    auto view = at_most ? door.finish_wait(ref.handle(), std::move(call),
                                           detail::time_left(*at_most, asked_at))
                        : door.finish_resolve(ref.handle(), std::move(call));
    auto pinned = ref.keep_locked(std::move(view));
    if (pinned) co_return *std::move(pinned);
    co_return Outcome<Pinned<T>>(tl::unexpected(detail::failure_of(std::move(pinned).error())));
  }
  [[nodiscard]] std::optional<Pinned<T>> kept() const {
    const std::lock_guard lock(state_->mutex);
    return state_->pinned;
  }
  // The lock is not held when a coroutine ends: what follows it runs then, and may use the Ref.
  [[nodiscard]] Result<Pinned<T>> keep_locked(Result<detail::ObjectView> view) const {
    const std::lock_guard lock(state_->mutex);
    return keep(std::move(view));
  }
  // With the lock held. What somebody else has resolved meanwhile stays: there may be references
  // into it.
  [[nodiscard]] Result<Pinned<T>> keep(Result<detail::ObjectView> view) const {
    if (state_->pinned) return *state_->pinned;
    if (!view) return tl::unexpected(std::move(view).error());
    auto pinned = Pinned<T>::create(*std::move(view));
    if (pinned) state_->pinned = *pinned;
    return pinned;
  }
  // The Ref keeps what it returns, so that references into it stay.
  [[nodiscard]] const Pinned<T>& resolved() const {
    auto pinned = resolve();
    if (!pinned) throw ResolveError(std::move(pinned).error());
    return *state_->pinned;
  }

  std::shared_ptr<State> state_;
};

// In signatures a Ref is a handle; calls pass it as such.
template <class T>
struct TypeOf<Ref<T>> : TypeOf<HandleOf<T>> {};
namespace detail {
template <class T>
struct PassedAs<Ref<T>> {
  using type = const HandleOf<T>&;
};
}  // namespace detail

// The Ref that a value of type V is put as: a vector or span of plain elements as an array.
template <class V>
using RefTo = Ref<detail::StoredAs<V>>;

template <class V>
auto NodeHandle::put(const V& value, const PutOptions& options) const {
  using Stored = detail::StoredAs<V>;
  return detail::with_encoded<Stored>(value, [&](detail::ObjectParts parts) -> Result<Ref<Stored>> {
    const detail::ObjectDoor door(objects());
    auto handle =
        door.put(id(), {.type = Ref<Stored>::Codec::type_hash(), .options = options}, parts);
    if (!handle) return tl::unexpected(std::move(handle).error());
    return Ref<Stored>::from(door, *handle);
  });
}

}  // namespace godwit
