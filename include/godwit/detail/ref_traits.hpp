// What calls know of references without <godwit/ref.hpp>, which whoever has a Ref includes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/codec.hpp"
#include "godwit/handle.hpp"
#include "godwit/mobile/std.hpp"

namespace godwit {

template <class T>
class Ref;

namespace detail {

template <class T>
inline constexpr bool kIsRef = false;
template <class T>
inline constexpr bool kIsRef<Ref<T>> = true;

// Whether a Ref may be given for a parameter that takes a value: the bytes of the object are what
// the argument's would be.
template <class Parameter, class Given>
inline constexpr bool kStandsFor = false;
template <class T>
inline constexpr bool kStandsFor<std::span<const T>, Ref<T[]>> = true;
template <class T>
inline constexpr bool kStandsFor<std::vector<T>, Ref<T[]>> = true;
template <>
inline constexpr bool kStandsFor<std::string_view, Ref<std::string>> = true;
template <>
inline constexpr bool kStandsFor<std::string, Ref<std::string>> = true;

// An argument that stays where it is: the target finds it there.
struct LentObject {
  std::uint32_t parameter = 0;  // counted from 0
  const Handle* handle = nullptr;
};

// What is in the blob of such a one until the target knows where the object lies. A node that does
// not know of objects finds no sense in it, and refuses the call.
inline constexpr Descriptor kElsewhere{.offset = UINT64_MAX, .count = UINT64_MAX};

template <class Parameter>
using PassedValue = std::remove_cvref_t<Passed<Parameter>>;

// The value to encode for an argument; nothing for one that stays where it is.
template <class Parameter, class Given>
PassedValue<Parameter> value_to_pass(const Given& given) {
  if constexpr (kStandsFor<std::remove_cvref_t<Parameter>, Given>) {
    return {};
  } else {
    return given;
  }
}

template <class First, class... Rest>
auto node_of_first_ref(const First& first, const Rest&... rest) {
  if constexpr (kIsRef<First>) {
    return first.node();
  } else {
    return node_of_first_ref(rest...);
  }
}

}  // namespace detail
}  // namespace godwit
