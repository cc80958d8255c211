// std::optional as opt.
#pragma once

#include <optional>

#include "godwit/codec.hpp"

namespace godwit {

namespace detail {
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
}  // namespace detail

template <class T>
struct TypeOf<std::optional<T>> {
  static_assert(!detail::kIsOptional<T>, "godwit: an optional of an optional has no encoding");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept {
    out.put("opt<");
    TypeOf<T>::spell(out);
    out.put(">");
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static constexpr Form kForm = Form::packed;
  static void pack(Packer& out, const std::optional<T>& value) {
    if (!value) return out.nil();
    Codec<T>::pack(out, *value);
  }
  static bool unpack(Unpacker& in, std::optional<T>& value) {
    value.reset();
    return in.accept_nil() || Codec<T>::unpack(in, value.emplace());
  }
};

}  // namespace godwit
