// Objects that are written where they will lie, so that nobody copies them: for results that are
// computed into memory anyway, and are large.
//
//   auto draft = godwit::Draft<double[]>::make(fleet.node(2), 100'000'000).value();
//   solve(*draft);                                     // std::span<double>: the home's own memory
//   godwit::Ref<double[]> field = draft.publish().value();   // one message, however large
//
// On the home's host a draft is memory of the home: put() would need as much again in this process,
// and copy it. Where the home's memory cannot be mapped, and for 16 KiB and less, it is memory of
// this process, and is sent when it is published, as by put(). Programs need not know which:
// in_place() tells those who want to. A channel that is to have it gets a copy.
//
// Nobody sees a draft before it is published; one that is given up, or whose process dies, leaves
// nothing. What is in it at first is unspecified. Items of streams are drafted by
// Producer::draft() (stream.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "godwit/detail/draft_door.hpp"
#include "godwit/detail/object_parts.hpp"
#include "godwit/error.hpp"
#include "godwit/fleet.hpp"
#include "godwit/lifetime.hpp"
#include "godwit/owned.hpp"
#include "godwit/promise.hpp"
#include "godwit/ref.hpp"

namespace godwit {

// Of an array of plain elements. Move-only; one thread at a time may call its members, any number
// may write to the elements. The fleet outlives it. Once it was published, by whichever way, or
// moved from, it has nothing: it is empty, and cannot be published (invalid_argument).
template <class T>
class Draft {
  static_assert(std::is_unbounded_array_v<T>,
                "godwit: a draft is of an array of plain elements, as in Draft<double[]>");
  using Element = std::remove_extent_t<T>;

 public:
  // Errors: resource_exhausted (the home's object_budget_mb, or this process has no such memory),
  // invalid_argument (too many elements to count), node_lost, unreachable, deadline.
  [[nodiscard]] static Result<Draft> make(const NodeHandle& home, std::uint64_t elements) {
    if (const Status fits = detail::check_elements(sizeof(Element), {elements}); !fits) {
      return tl::unexpected(fits.error());
    }
    auto made = detail::ObjectDraft::create(detail::ObjectDoor(home.objects()), home.id(),
                                            elements * sizeof(Element));
    if (!made) return tl::unexpected(std::move(made).error());
    return Draft(home, *std::move(made));
  }

  // To write to, until it is published: from then on others read there, and a write that comes late
  // is seen by some of them.
  [[nodiscard]] std::span<Element> operator*() const noexcept {
    const std::span<std::byte> bytes = core_.bytes();
    return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
  }
  // Whether it is memory of the home's already.
  [[nodiscard]] bool in_place() const noexcept { return core_.in_place(); }

  // Makes it an object. Errors, after which it is still there, to be tried again or otherwise:
  // those of NodeHandle::put(), and not_found (the home was started anew, or has taken this process
  // for dead, and the memory may be somebody else's). After deadline, node_lost or unreachable it
  // may have become an object all the same: then the next try is not_found, and nothing is to be
  // written to it before that.
  [[nodiscard]] Result<Ref<T>> publish(const PutOptions& options = {}) {
    return made(core_.publish(terms(options)));
  }
  // The same, with an owner.
  [[nodiscard]] Result<Owned<T>> publish_owned(const PutOptions& options = {}) {
    auto owned_terms = terms(options);
    owned_terms.owned = true;
    auto ref = made(core_.publish(owned_terms));
    if (!ref) return tl::unexpected(std::move(ref).error());
    return Owned<T>::of_new(*std::move(ref));
  }
  // Makes it the next version of an object, or what was promised: Ref::update() and Promise::set(),
  // and their errors. Of one with another home than the draft's, it is sent there.
  [[nodiscard]] Result<Ref<T>> update(const Ref<T>& ref) {
    return made(core_.update(ref.handle(), 0));
  }
  [[nodiscard]] Status update(Owned<T>& owned) {
    return owned.update_with([&](const Ref<T>& newest) { return update(newest); });
  }
  [[nodiscard]] Status update(BorrowedMut<T>& borrowed) {
    return borrowed.update_with([&](const Ref<T>& newest, std::uint64_t borrow) {
      return made(core_.update(newest.handle(), borrow));
    });
  }
  [[nodiscard]] Result<Ref<T>> fulfil(Promise<T>& promise) {
    return promise.set_with(
        [&](const Ref<T>& promised) { return core_.fulfil(promised.handle()); });
  }

 private:
  Draft(const NodeHandle& home, detail::ObjectDraft core)
      : door_(home.objects()), core_(std::move(core)) {}
  static detail::NewObjectTerms terms(const PutOptions& options) {
    return {.type = detail::ObjectCodec<T>::type_hash(), .options = options};
  }
  Result<Ref<T>> made(Result<Handle> handle) const {
    if (!handle) return tl::unexpected(std::move(handle).error());
    return Ref<T>::from(door_, *handle);
  }

  detail::ObjectDoor door_;
  detail::ObjectDraft core_;
};

}  // namespace godwit
