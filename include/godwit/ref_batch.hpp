// Many objects at once, in as few messages as hold them.
//
//   for (auto& ref : fleet.node(2).put_batch<Frame>(frames)) ...   // a Result<Ref<Frame>> for each
//   for (auto& frame : godwit::resolve_batch<Frame>(refs)) ...     // a Result<Pinned<Frame>>
//
// Each has its own end: what fails does not keep the others from being put, or from being read.
// Errors are those of ref.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "godwit/detail/object_codec.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/fleet.hpp"
#include "godwit/handle.hpp"
#include "godwit/lifetime.hpp"
#include "godwit/pinned.hpp"
#include "godwit/ref.hpp"

namespace godwit {

template <class V>
auto NodeHandle::put_batch(std::span<const V> values, const PutOptions& options) const {
  using Stored = detail::StoredAs<V>;
  using Codec = detail::ObjectCodec<Stored>;
  std::vector<typename Codec::Encoded> encoded;
  encoded.reserve(values.size());
  std::vector<std::span<const std::byte>> objects_bytes;
  objects_bytes.reserve(values.size());
  for (const V& value : values) {
    encoded.emplace_back(value);
    if (encoded.back().ok()) objects_bytes.push_back(encoded.back().whole());
  }
  const detail::ObjectDoor door(objects());
  auto handles =
      door.put_all(id(), {.type = Codec::type_hash(), .options = options}, objects_bytes);
  std::vector<Result<RefTo<V>>> refs;
  refs.reserve(values.size());
  auto next = handles.begin();  // of those that were sent
  for (const auto& one : encoded) {
    if (!one.ok()) {
      refs.push_back(detail::not_encoded(Codec::type()));
      continue;
    }
    auto& handle = *next++;
    if (handle) {
      refs.push_back(Ref<Stored>::from(door, *handle));
    } else {
      refs.push_back(tl::unexpected(std::move(handle).error()));
    }
  }
  return refs;
}

namespace detail {
// What a batch does with each Ref.
struct RefBatch {
  template <class T>
  static std::optional<Pinned<T>> kept(const Ref<T>& ref) {
    return ref.kept();
  }
  template <class T>
  static Result<Pinned<T>> keep(const Ref<T>& ref, Result<ObjectView> view) {
    return ref.keep_locked(std::move(view));
  }
};
}  // namespace detail

// Resolves many at once, in one message for each home, in the order of the Refs; what fails has its
// error, as of Ref::resolve(). Each Ref keeps what came: `*ref` costs nothing afterwards. A Ref
// that is resolved already is not asked for. All are of one fleet, by whose links they come. Any
// thread; what another thread resolves by the same Ref meanwhile may be asked for twice.
template <class T>
[[nodiscard]] std::vector<Result<Pinned<T>>> resolve_batch(std::span<const Ref<T>> refs) {
  std::vector<Result<Pinned<T>>> results;
  results.reserve(refs.size());
  std::vector<Handle> wanted;
  std::vector<std::size_t> places;  // of their results
  for (const Ref<T>& ref : refs) {
    if (auto pinned = detail::RefBatch::kept(ref)) {
      results.push_back(*std::move(pinned));
      continue;
    }
    wanted.push_back(ref.handle());
    places.push_back(results.size());
    results.push_back(tl::unexpected(Error{}));
  }
  if (wanted.empty()) return results;
  auto place = places.begin();
  for (auto& view : refs.front().door().resolve_all(wanted)) {
    results[*place] = detail::RefBatch::keep(refs[*place], std::move(view));
    ++place;
  }
  return results;
}

}  // namespace godwit
