// std::map and std::unordered_map as map.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "godwit/codec.hpp"

namespace godwit {

namespace detail {

template <class Key, class Value>
struct MapType {
  static_assert(std::is_same_v<Key, bool> || Integer<Key> || type_name<Key>.view() == "str",
                "godwit: a map's key is an integer, bool or string");
  static constexpr bool kPlain = false;
  static constexpr void spell(Speller& out) noexcept {
    out.put("map<");
    TypeOf<Key>::spell(out);
    out.put(", ");
    TypeOf<Value>::spell(out);
    out.put(">");
  }
};

// Of equal keys in the input, the first counts.
template <class Map>
struct MapCodec {
  static constexpr Form kForm = Form::packed;
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;

  static void pack(Packer& out, const Map& map) {
    out.map(map.size());
    for (const auto& [key, value] : map) {
      Codec<Key>::pack(out, key);
      Codec<Value>::pack(out, value);
    }
  }
  static bool unpack(Unpacker& in, Map& map) {
    std::size_t count = 0;
    if (!in.map(count)) return false;
    map.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Key key{};
      Value value{};
      if (!Codec<Key>::unpack(in, key) || !Codec<Value>::unpack(in, value)) return false;
      map.emplace(std::move(key), std::move(value));
    }
    return true;
  }
};

}  // namespace detail

template <class Key, class Value>
struct TypeOf<std::map<Key, Value>> : detail::MapType<Key, Value> {};
template <class Key, class Value>
struct TypeOf<std::unordered_map<Key, Value>> : detail::MapType<Key, Value> {};

template <class Key, class Value>
struct Codec<std::map<Key, Value>> : detail::MapCodec<std::map<Key, Value>> {};
template <class Key, class Value>
struct Codec<std::unordered_map<Key, Value>> : detail::MapCodec<std::unordered_map<Key, Value>> {};

}  // namespace godwit
