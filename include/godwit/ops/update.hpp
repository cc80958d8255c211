// Changes of elements that depend on what is there, made by the element's home.
//
// A home makes them on its polling thread, one at a time: each is one step for gets, puts and
// atomics that go through the home, and for other updates. Two things run beside them: what a home
// does on its workers (puts and scatters of more than 8 KiB or 256 elements, mobile code that is
// not inline_), and loads through mappings. Elements of 1, 2, 4 and 8 bytes are safe from those
// too, one by one; larger ones, and compare_swap_all() as a whole, are not.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "godwit/detail/op_calls.hpp"
#include "godwit/ops/parts.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// For the library: an element in a reply of bytes.
template <class T>
Outcome<T> whole_element(detail::CallHandle call) {
  auto elements = detail::elements_of<T>(std::move(call));
  if (!elements) return tl::unexpected(std::move(elements).error());
  if (elements->size() != 1 ||
      !detail::PlainCheck<T>::valid(reinterpret_cast<const std::byte*>(elements->data()))) {
    return tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                  "the home sent something that is not an element"});
  }
  return elements->front();
}

// Joins a number to an element: adds it, or keeps the smaller or the larger. What was there before.
template <AnyNumber T>
Future<T> accumulate(const Region<T>& region, std::uint64_t index, Join join,
                     std::type_identity_t<T> value) {
  if (auto fits = region.handle().check("accumulate", index, 1); !fits) {
    return detail::known<T>(tl::unexpected(std::move(fits).error()));
  }
  return Future<T>(
      detail::start_accumulate(region.handle(), index, number_of<T>, join, bits_of(value)),
      &detail::element_of<T>);
}

// Runs a function of your own, written with <godwit/mobile/update.hpp>, at the element's home:
//   auto raise = bundle.function<double(ops::Element, double)>("raise").value();
//   auto before = ops::update(region, 7, raise, 3.5).get();
// For elements that are not of 1, 2, 4 or 8 bytes it must be exported with inline_ (unsupported
// otherwise). Spans and string views among the arguments are borrowed until it has ended.
template <class T, class R, class... Params>
Future<R> update(const Region<T>& region, std::uint64_t index,
                 const Function<R(Element, Params...)>& function,
                 std::type_identity_t<Passed<Params>>... args) {
  detail::OpSubject subject{.what = "update", .first = index, .count = 1};
  if (auto fits = region.handle().check("update", index, 1); !fits) {
    return detail::known<R>(tl::unexpected(std::move(fits).error()));
  }
  if (!detail::kIsWord<T> && !detail::runs_inline(region.handle(), function.code())) {
    return detail::known<R>(tl::unexpected(detail::op_failure(
        region.handle(), subject, ErrorCode::unsupported,
        "elements of this size change in one step only on the polling thread: export the function "
        "with inline_")));
  }
  subject.shard = detail::shard_of(region.handle(), index);
  return detail::call_user(region.handle(), subject, true, function,
                           Element{region.handle().id(), index}, args...);
}

// Stores `desired` if the element's bytes equal those of `expected`, or only those of one member,
// such as a version; returns the element as it was before, from which it follows whether it was
// stored. Elements have 8 KiB at most.
template <class T>
Future<T> put_if(const Region<T>& region, std::uint64_t index,
                 const std::type_identity_t<T>& expected, const std::type_identity_t<T>& desired) {
  static_assert(sizeof(T) <= kMaxUpdateBytes, "godwit: too large to be changed in one step");
  if (auto fits = region.handle().check("put_if", index, 1); !fits) {
    return detail::known<T>(tl::unexpected(std::move(fits).error()));
  }
  return Future<T>(
      detail::start_put_if(region.handle(), index, 0, std::as_bytes(std::span(&expected, 1)),
                           std::as_bytes(std::span(&desired, 1))),
      &whole_element<T>);
}
template <class T, class Member>
Future<T> put_if(const Region<T>& region, std::uint64_t index, Member T::* member,
                 const std::type_identity_t<Member>& expected, const T& desired) {
  static_assert(sizeof(T) <= kMaxUpdateBytes, "godwit: too large to be changed in one step");
  if (auto fits = region.handle().check("put_if", index, 1); !fits) {
    return detail::known<T>(tl::unexpected(std::move(fits).error()));
  }
  const auto* const begin = reinterpret_cast<const std::byte*>(&desired);
  const auto* const field = reinterpret_cast<const std::byte*>(&(desired.*member));
  return Future<T>(
      detail::start_put_if(region.handle(), index, static_cast<std::uint32_t>(field - begin),
                           std::as_bytes(std::span(&expected, 1)),
                           std::as_bytes(std::span(&desired, 1))),
      &whole_element<T>);
}

// Stores all that is desired if all that is expected is there; returns the elements as they were
// before, in order: the swap was made if they equal what was expected, byte for byte. 1 to
// kMaxSwaps different elements of one shard: elements of several homes are refused with
// invalid_argument, since no home can stop what another does.
template <class T>
Future<std::vector<T>> compare_swap_all(const Region<T>& region,
                                        std::type_identity_t<std::span<const Swap<T>>> swaps) {
  std::vector<std::uint64_t> indices;
  std::vector<T> expected;
  std::vector<T> desired;
  for (const Swap<T>& swap : swaps) {
    indices.push_back(swap.index);
    expected.push_back(swap.expected);
    desired.push_back(swap.desired);
  }
  if (auto fits = detail::check_one_home(region.handle(), indices); !fits) {
    return detail::known<std::vector<T>>(tl::unexpected(std::move(fits).error()));
  }
  return Future<std::vector<T>>(
      detail::start_compare_swap_all(region.handle(), indices, std::as_bytes(std::span(expected)),
                                     std::as_bytes(std::span(desired))),
      &detail::elements_of<T>);
}

}  // namespace godwit::ops
