// std::vector as list, and std::vector<std::byte> as bytes. Decoded vectors own their elements.
#pragma once

#include <vector>

#include "godwit/codec.hpp"

namespace godwit {

template <class T>
struct TypeOf<std::vector<T>> {
  static_assert(
      !std::is_same_v<T, bool>,
      "godwit: std::vector<bool> has no elements in memory; use std::vector<std::uint8_t>");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept {
    out.put("list<");
    TypeOf<T>::spell(out);
    out.put(">");
  }
};

template <>
struct TypeOf<std::vector<std::byte>> : TypeOf<std::span<const std::byte>> {};

namespace detail {

template <class T>
struct RawVector {
  using Element = T;
  static std::span<const T> view(const std::vector<T>& items) noexcept { return items; }
  static std::vector<T> make(std::span<const T> items) { return {items.begin(), items.end()}; }
};
struct NotRaw {};

template <class T>
  requires kPlain<T>
struct PassedAs<std::vector<T>> {
  using type = std::span<const T>;
};

}  // namespace detail

template <class T>
struct Codec<std::vector<T>> : std::conditional_t<kPlain<T>, detail::RawVector<T>, detail::NotRaw> {
  static constexpr Form kForm = kPlain<T> ? Form::raw : Form::packed;

  static void pack(Packer& out, const std::vector<T>& items) {
    out.array(items.size());
    for (const T& item : items) Codec<T>::pack(out, item);
  }
  static bool unpack(Unpacker& in, std::vector<T>& items) {
    std::size_t count = 0;
    if (!in.array(count)) return false;
    items.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (!Codec<T>::unpack(in, items.emplace_back())) return false;
    }
    return true;
  }
};

template <>
struct Codec<std::vector<std::byte>> : detail::RawVector<std::byte> {
  static constexpr Form kForm = Form::raw;
  static void pack(Packer& out, const std::vector<std::byte>& bytes) noexcept { out.bin(bytes); }
  static bool unpack(Unpacker& in, std::vector<std::byte>& bytes) {
    std::span<const std::byte> found;
    if (!in.bin(found)) return false;
    bytes.assign(found.begin(), found.end());
    return true;
  }
};

}  // namespace godwit
