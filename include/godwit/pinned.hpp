// Resolved objects: what a Ref (ref.hpp) leads to.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <utility>

#include "godwit/detail/object_codec.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "godwit/resolve_path.hpp"

namespace godwit {

// What dereferencing a Ref throws if the object cannot be had. resolve() returns it instead.
class ResolveError : public std::exception {
 public:
  explicit ResolveError(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

// A resolved object: points at a const T, or at the elements of a T[]. Cheap to copy; any thread.
// What it points at stays, unchanged, until the last copy is gone; the fleet outlives them all. One
// that was moved from can be assigned to, and nothing else.
template <class T>
class Pinned {
 public:
  using Codec = detail::ObjectCodec<T>;
  using Value = typename Codec::Value;

  [[nodiscard]] decltype(auto) operator*() const noexcept { return Codec::get(value_); }
  [[nodiscard]] auto operator->() const noexcept { return Codec::arrow(value_); }
  [[nodiscard]] const Handle& handle() const noexcept { return view_.handle; }
  // The object as it is stored.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return view_.bytes; }
  [[nodiscard]] ResolvedBy how() const noexcept { return view_.how; }

  // For the library.
  [[nodiscard]] static Result<Pinned> create(detail::ObjectView view) {
    Pinned pinned;
    auto value = Codec::decode(view.bytes);
    if (!value) {
      return detail::not_decoded("object " + view.handle.object.short_hex(),
                                 std::move(value).error());
    }
    pinned.value_ = *std::move(value);
    pinned.view_ = std::move(view);
    return pinned;
  }

 private:
  Pinned() = default;
  detail::ObjectView view_;
  Value value_{};
};

}  // namespace godwit
