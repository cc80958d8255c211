// The canonical type strings of docs/types.md for C++ types, computed at compile time.
//
//   godwit::type_name<std::span<const double>>          "span<f64>"
//   godwit::signature_of<double(std::span<const double>, std::uint32_t)>
//                                                       "(span<f64>, u32) -> f64"
//
// Scalars, std::array, std::tuple, std::pair, std::string_view, std::span and structs registered
// with GODWIT_STRUCT (struct.hpp) are known here; std::string, std::vector, the maps and
// std::optional come with <godwit/mobile/std.hpp>. Mobile code includes this header: it stays
// light.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "godwit/struct.hpp"

namespace godwit {

class Here;
template <class T>
class Next;

inline constexpr std::size_t kItemLimit = 32;   // parameters, fields, tuple items
inline constexpr std::size_t kAlignLimit = 16;  // of plain types

// A string as a compile-time value.
template <std::size_t N>
struct Text {
  char chars[N + 1] = {};
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {chars, N}; }
  // NOLINTNEXTLINE(google-explicit-constructor): it is a string, only sized
  constexpr operator std::string_view() const noexcept { return view(); }
};

// Spells a type; without a destination it only counts characters.
struct Speller {
  char* out = nullptr;
  std::size_t size = 0;

  constexpr void put(std::string_view text) noexcept {
    for (const char c : text) {
      if (out != nullptr) out[size] = c;
      ++size;
    }
  }
  constexpr void put_number(std::size_t value) noexcept {
    if (value >= 10) put_number(value / 10);
    const char digit = static_cast<char>('0' + value % 10);
    put({&digit, 1});
  }
};

namespace detail {
template <class T>
inline constexpr bool kIsCharacter =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
template <class T>
concept Integer =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !kIsCharacter<T> && sizeof(T) <= 8;
}  // namespace detail

// How a C++ type stands in the grammar: kPlain (it travels as memory) and spell(Speller&).
// Specialise it, and Codec (codec.hpp), to make another type travel.
template <class T>
struct TypeOf {
  static_assert(!std::is_pointer_v<T>,
                "godwit: a pointer cannot travel; pass a value, a std::span<const T> or a "
                "std::string_view");
  static_assert(!std::is_reference_v<T>,
                "godwit: a reference to something mutable cannot travel; take the parameter by "
                "value or by const reference");
  static_assert(!detail::kIsCharacter<T>,
                "godwit: a character type has no size and sign of its own; use std::int8_t, "
                "std::uint8_t or a string");
  static_assert(std::is_pointer_v<T> || std::is_reference_v<T> || detail::kIsCharacter<T>,
                "godwit: this type cannot travel; a struct needs GODWIT_STRUCT(Type, fields...) in "
                "its own namespace, and std::string, std::vector, std::map and std::optional need "
                "<godwit/mobile/std.hpp>");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept { out.put("?"); }
};

template <class T>
inline constexpr bool kPlain = TypeOf<T>::kPlain;

template <>
struct TypeOf<void> {
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept { out.put("unit"); }
};

template <>
struct TypeOf<bool> {
  static constexpr bool kPlain = true;
  static constexpr void spell(Speller& out) noexcept { out.put("bool"); }
};

template <detail::Integer T>
struct TypeOf<T> {
  static constexpr bool kPlain = true;
  static constexpr void spell(Speller& out) noexcept {
    out.put(std::is_signed_v<T> ? "i" : "u");
    out.put_number(sizeof(T) * 8);
  }
};

template <>
struct TypeOf<std::byte> : TypeOf<std::uint8_t> {};

template <>
struct TypeOf<float> {
  static constexpr bool kPlain = true;
  static constexpr void spell(Speller& out) noexcept { out.put("f32"); }
};

template <>
struct TypeOf<double> {
  static constexpr bool kPlain = true;
  static constexpr void spell(Speller& out) noexcept { out.put("f64"); }
};

template <class T, std::size_t N>
struct TypeOf<T[N]> {
  static constexpr bool kPlain = TypeOf<T>::kPlain;
  static constexpr void spell(Speller& out) noexcept {
    out.put("array<");
    TypeOf<T>::spell(out);
    out.put(", ");
    out.put_number(N);
    out.put(">");
  }
};

template <class T, std::size_t N>
struct TypeOf<std::array<T, N>> : TypeOf<T[N]> {
  static_assert(sizeof(std::array<T, N>) == sizeof(T) * N);
};

template <>
struct TypeOf<std::string_view> {
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept { out.put("str"); }
};

template <class T>
struct TypeOf<std::span<T>> {
  static_assert(
      std::is_const_v<T>,
      "godwit: a parameter is a copy; take a std::span<const T>, and return what changed");
  static_assert(TypeOf<std::remove_const_t<T>>::kPlain,
                "godwit: a span has plain elements (scalars, arrays and structs of such); for "
                "others take a std::vector");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept {
    out.put("span<");
    TypeOf<std::remove_const_t<T>>::spell(out);
    out.put(">");
  }
};

template <>
struct TypeOf<std::span<const std::byte>> {
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept { out.put("bytes"); }
};

template <class... Items>
struct TypeOf<std::tuple<Items...>> {
  static_assert(sizeof...(Items) > 0 && sizeof...(Items) <= kItemLimit,
                "godwit: a tuple has 1 to 32 items");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept {
    bool first = true;
    out.put("tuple");
    ((out.put(std::exchange(first, false) ? "<" : ", "), TypeOf<Items>::spell(out)), ...);
    out.put(">");
  }
};

template <class First, class Second>
struct TypeOf<std::pair<First, Second>> : TypeOf<std::tuple<First, Second>> {};

template <Described T>
struct TypeOf<T> {
  static constexpr auto kInfo = describe<T>();

  static constexpr bool kPlain = kInfo.each([](const auto&... fields) {
    return (TypeOf<detail::ValueOf<decltype(fields)>>::kPlain && ...);
  });
  static_assert(!kPlain || (std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>),
                "godwit: a struct of plain fields travels as memory: it must be trivially copyable "
                "and of standard layout (no virtuals, no base with fields, one access level)");
  static_assert(!kPlain || alignof(T) <= kAlignLimit,
                "godwit: a plain type's alignment is at most 16");
  static_assert(!kPlain || kInfo.is_dense(sizeof(T), alignof(T)),
                "godwit: GODWIT_STRUCT must name every field, in order");

  static constexpr void spell(Speller& out) noexcept {
    out.put("struct ");
    out.put(kInfo.name);
    bool first = true;
    kInfo.each([&](const auto&... fields) {
      (spell_field(out, std::exchange(first, false), fields), ...);
    });
    if constexpr (kPlain) {
      out.put("; size ");
      out.put_number(sizeof(T));
      out.put(" align ");
      out.put_number(alignof(T));
    }
    out.put("}");
  }

 private:
  template <class F>
  static constexpr void spell_field(Speller& out, bool first, const F& field) noexcept {
    out.put(first ? "{" : ", ");
    out.put(field.name);
    out.put(": ");
    TypeOf<detail::ValueOf<F>>::spell(out);
    if constexpr (kPlain) {
      out.put(" @");
      out.put_number(field.offset);
    }
  }
};

// Functions: R(Args...) as a TypedSignature. A leading Here& is not part of it, and a result
// Next<T> counts as T.
template <class R, class... Params>
struct TypedSignature {
  static_assert(sizeof...(Params) <= kItemLimit, "godwit: a function has at most 32 parameters");
  using Result = R;
  using Values = std::tuple<Params...>;  // the parameters as values, const& removed

  static constexpr void spell(Speller& out) noexcept {
    [[maybe_unused]] bool first = true;
    out.put("(");
    ((out.put(std::exchange(first, false) ? "" : ", "), TypeOf<Params>::spell(out)), ...);
    out.put(") -> ");
    TypeOf<R>::spell(out);
  }
};

namespace detail {

template <class T>
struct Spelled {
  static constexpr std::size_t kSize = [] {
    Speller counting;
    T::spell(counting);
    return counting.size;
  }();
  static constexpr Text<kSize> kText = [] {
    Text<kSize> text;
    Speller writing{.out = text.chars, .size = 0};
    T::spell(writing);
    return text;
  }();
};

// A parameter as it is declared -> the value that travels. T& and T&& stay, and TypeOf explains.
template <class P>
struct ParameterValue {
  using type = std::remove_cv_t<P>;
};
template <class T>
struct ParameterValue<const T&> {
  using type = T;
};

template <class R>
struct ResultValue {
  using type = std::remove_cv_t<R>;
};
template <class T>
struct ResultValue<const T&> {
  using type = T;
};
template <class T>
struct ResultValue<Next<T>> {
  using type = T;
};

template <class F>
struct FunctionType;
template <class R, class... Params>
struct FunctionType<R(Params...)> {
  static constexpr bool kTakesHere = false;
  using Declared = R;
  using Sig =
      TypedSignature<typename ResultValue<R>::type, typename ParameterValue<Params>::type...>;
};
template <class R, class... Params>
struct FunctionType<R(Here&, Params...)> : FunctionType<R(Params...)> {
  static constexpr bool kTakesHere = true;
};
template <class R, class... Params>
struct FunctionType<R(Params...) noexcept> : FunctionType<R(Params...)> {};
template <class R, class... Params>
struct FunctionType<R (*)(Params...)> : FunctionType<R(Params...)> {};
template <class R, class... Params>
struct FunctionType<R (*)(Params...) noexcept> : FunctionType<R(Params...)> {};

}  // namespace detail

// The canonical string of a type.
template <class T>
inline constexpr const auto& type_name = detail::Spelled<TypeOf<T>>::kText;

// Function is R(Args...) or a pointer to such.
template <class Function>
using SignatureOf = typename detail::FunctionType<Function>::Sig;

// The canonical string of a function type.
template <class Function>
inline constexpr const auto& signature_of = detail::Spelled<SignatureOf<Function>>::kText;

}  // namespace godwit
