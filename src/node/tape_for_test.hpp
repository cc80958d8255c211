// A type with values that msgpack cannot express, without the 4 GiB that those of others take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "godwit/codec.hpp"

namespace godwit {

namespace node {

struct Tape {
  std::uint64_t number = 0;
  bool endless = false;
};
inline constexpr Tape kEndless{.number = 0, .endless = true};

}  // namespace node

template <>
struct TypeOf<node::Tape> {
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept { out.put("map<str, u64>"); }
};

template <>
struct Codec<node::Tape> {
  static constexpr Form kForm = Form::packed;
  static void pack(Packer& out, const node::Tape& tape) noexcept {
    out.map(tape.endless ? std::numeric_limits<std::size_t>::max() : 1);
    out.str("number");
    out.unsigned_integer(tape.number);
  }
  static bool unpack(Unpacker& in, node::Tape& tape) noexcept {
    std::size_t fields = 0;
    std::string_view name;
    return in.map(fields) && fields == 1 && in.str(name) && name == "number" &&
           in.integer(tape.number);
  }
};

}  // namespace godwit
