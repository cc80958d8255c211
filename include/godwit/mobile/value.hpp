// How one value travels: Codec<T>, for each type that types.hpp knows.
//
// A codec says the form a parameter of its type takes in a blob (docs/types.md):
//   plain   the value's memory, in the head
//   raw     contiguous plain elements in the tail: Element, view(), make()
//   packed  msgpack in the tail
// and, for all forms, pack() and unpack() for a value inside a packed one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "godwit/msgpack.hpp"
#include "godwit/types.hpp"

namespace godwit {

enum class Form : std::uint8_t { plain, raw, packed };

template <class T>
struct Codec;

namespace detail {

// Memory that claims to be a T may hold a bool that is neither 0 nor 1, which no C++ program may
// read: the one thing about plain memory that needs checking.
template <class T>
struct PlainCheck {
  static constexpr bool kNeeded = false;
  static bool valid(const std::byte*) noexcept { return true; }
};
template <>
struct PlainCheck<bool> {
  static constexpr bool kNeeded = true;
  static bool valid(const std::byte* at) noexcept { return static_cast<std::uint8_t>(*at) <= 1; }
};
template <class T, std::size_t N>
struct PlainCheck<T[N]> {
  static constexpr bool kNeeded = PlainCheck<T>::kNeeded;
  static bool valid(const std::byte* at) noexcept {
    for (std::size_t i = 0; kNeeded && i < N; ++i) {
      if (!PlainCheck<T>::valid(at + i * sizeof(T))) return false;
    }
    return true;
  }
};
template <class T, std::size_t N>
struct PlainCheck<std::array<T, N>> : PlainCheck<T[N]> {};
template <Described T>
struct PlainCheck<T> {
  static constexpr bool kNeeded = TypeOf<T>::kInfo.each([](const auto&... fields) {
    return (PlainCheck<ValueOf<decltype(fields)>>::kNeeded || ...);
  });
  static bool valid(const std::byte* at) noexcept {
    if constexpr (kNeeded) {
      return TypeOf<T>::kInfo.each([at](const auto&... fields) {
        return (PlainCheck<ValueOf<decltype(fields)>>::valid(at + fields.offset) && ...);
      });
    }
    return true;
  }
};

}  // namespace detail

template <>
struct Codec<bool> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, bool value) noexcept { out.boolean(value); }
  static bool unpack(Unpacker& in, bool& value) noexcept { return in.boolean(value); }
};

template <detail::Integer T>
struct Codec<T> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, T value) noexcept {
    if constexpr (std::is_signed_v<T>) {
      out.signed_integer(value);
    } else {
      out.unsigned_integer(value);
    }
  }
  static bool unpack(Unpacker& in, T& value) noexcept { return in.integer(value); }
};

template <>
struct Codec<std::byte> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, std::byte value) noexcept {
    out.unsigned_integer(static_cast<std::uint8_t>(value));
  }
  static bool unpack(Unpacker& in, std::byte& value) noexcept {
    std::uint8_t number = 0;
    if (!in.integer(number)) return false;
    value = static_cast<std::byte>(number);
    return true;
  }
};

template <>
struct Codec<double> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, double value) noexcept { out.f64(value); }
  static bool unpack(Unpacker& in, double& value) noexcept { return in.floating(value); }
};

template <>
struct Codec<float> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, float value) noexcept { out.f32(value); }
  static bool unpack(Unpacker& in, float& value) noexcept {
    double wide = 0;
    if (!in.floating(wide)) return false;
    value = static_cast<float>(wide);
    return true;
  }
};

template <class T, std::size_t N>
struct Codec<T[N]> {
  static constexpr Form kForm = kPlain<T> ? Form::plain : Form::packed;
  static void pack(Packer& out, const T (&items)[N]) {
    out.array(N);
    for (const T& item : items) Codec<T>::pack(out, item);
  }
  static bool unpack(Unpacker& in, T (&items)[N]) {
    std::size_t count = 0;
    if (!in.array(count) || count != N) return false;
    for (T& item : items) {
      if (!Codec<T>::unpack(in, item)) return false;
    }
    return true;
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static constexpr Form kForm = kPlain<T> ? Form::plain : Form::packed;
  static void pack(Packer& out, const std::array<T, N>& items) {
    out.array(N);
    for (const T& item : items) Codec<T>::pack(out, item);
  }
  static bool unpack(Unpacker& in, std::array<T, N>& items) {
    std::size_t count = 0;
    if (!in.array(count) || count != N) return false;
    for (T& item : items) {
      if (!Codec<T>::unpack(in, item)) return false;
    }
    return true;
  }
};

// Points into the blob it was decoded from.
template <>
struct Codec<std::string_view> {
  static constexpr Form kForm = Form::raw;
  using Element = char;
  static std::span<const char> view(std::string_view text) noexcept { return text; }
  static std::string_view make(std::span<const char> chars) noexcept {
    return {chars.data(), chars.size()};
  }
  static void pack(Packer& out, std::string_view text) noexcept { out.str(text); }
  static bool unpack(Unpacker& in, std::string_view& text) noexcept { return in.str(text); }
};

// Points into the blob it was decoded from; a whole parameter or result only.
template <class T>
struct Codec<std::span<const T>> {
  static constexpr Form kForm = Form::raw;
  using Element = T;
  static std::span<const T> view(std::span<const T> items) noexcept { return items; }
  static std::span<const T> make(std::span<const T> items) noexcept { return items; }
  static void pack(Packer&, std::span<const T>) {
    static_assert(sizeof(T) == 0, "godwit: a span is a whole parameter or result; use std::vector");
  }
};

template <>
struct Codec<std::span<const std::byte>> {
  static constexpr Form kForm = Form::raw;
  using Element = std::byte;
  using Span = std::span<const std::byte>;
  static Span view(Span bytes) noexcept { return bytes; }
  static Span make(Span bytes) noexcept { return bytes; }
  static void pack(Packer& out, Span bytes) noexcept { out.bin(bytes); }
  static bool unpack(Unpacker& in, Span& bytes) noexcept { return in.bin(bytes); }
};

template <class... Items>
struct Codec<std::tuple<Items...>> {
  static constexpr Form kForm = Form::packed;
  static void pack(Packer& out, const std::tuple<Items...>& items) {
    out.array(sizeof...(Items));
    std::apply([&](const Items&... item) { (Codec<Items>::pack(out, item), ...); }, items);
  }
  static bool unpack(Unpacker& in, std::tuple<Items...>& items) {
    std::size_t count = 0;
    if (!in.array(count) || count != sizeof...(Items)) return false;
    return std::apply([&](Items&... item) { return (Codec<Items>::unpack(in, item) && ...); },
                      items);
  }
};

template <class First, class Second>
struct Codec<std::pair<First, Second>> {
  static constexpr Form kForm = Form::packed;
  static void pack(Packer& out, const std::pair<First, Second>& items) {
    out.array(2);
    Codec<First>::pack(out, items.first);
    Codec<Second>::pack(out, items.second);
  }
  static bool unpack(Unpacker& in, std::pair<First, Second>& items) {
    std::size_t count = 0;
    return in.array(count) && count == 2 && Codec<First>::unpack(in, items.first) &&
           Codec<Second>::unpack(in, items.second);
  }
};

template <Described T>
struct Codec<T> {
  static constexpr Form kForm = kPlain<T> ? Form::plain : Form::packed;
  static void pack(Packer& out, const T& value) {
    TypeOf<T>::kInfo.each([&](const auto&... fields) {
      out.array(sizeof...(fields));
      (Codec<detail::ValueOf<decltype(fields)>>::pack(out, value.*fields.member), ...);
    });
  }
  static bool unpack(Unpacker& in, T& value) {
    return TypeOf<T>::kInfo.each([&](const auto&... fields) {
      std::size_t count = 0;
      return in.array(count) && count == sizeof...(fields) &&
             (Codec<detail::ValueOf<decltype(fields)>>::unpack(in, value.*fields.member) && ...);
    });
  }
};

}  // namespace godwit
