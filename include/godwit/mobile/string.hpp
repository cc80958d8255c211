// std::string as str. Decoded strings own their text.
#pragma once

#include <string>

#include "godwit/codec.hpp"

namespace godwit {

template <>
struct TypeOf<std::string> : TypeOf<std::string_view> {};

template <>
struct Codec<std::string> {
  static constexpr Form kForm = Form::raw;
  using Element = char;
  static std::span<const char> view(const std::string& text) noexcept { return text; }
  static std::string make(std::span<const char> chars) { return {chars.data(), chars.size()}; }
  static void pack(Packer& out, const std::string& text) noexcept { out.str(text); }
  static bool unpack(Unpacker& in, std::string& text) {
    std::string_view found;
    if (!in.str(found)) return false;
    text = found;
    return true;
  }
};

namespace detail {
template <>
struct PassedAs<std::string> {
  using type = std::string_view;
};
}  // namespace detail

}  // namespace godwit
