// How values become the bytes of objects, and back (docs/types.md): plain ones are their memory,
// arrays of plain ones their elements, everything else one msgpack value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/codec.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile/std.hpp"
#include "godwit/types.hpp"

namespace godwit::detail {

template <class V>
struct StoredAsType {
  using type = V;
};
template <class T, class Allocator>
  requires kPlain<T>
struct StoredAsType<std::vector<T, Allocator>> {
  using type = T[];
};
template <class T, std::size_t N>
struct StoredAsType<std::span<T, N>> {
  using type = std::remove_const_t<T>[];
};
template <class V>
using StoredAs = typename StoredAsType<std::remove_cvref_t<V>>::type;

inline tl::unexpected<Error> not_the_type(std::string_view type, const char* why) {
  return tl::unexpected(
      Error{ErrorCode::bad_format, "its bytes are no " + std::string(type) + ": " + why});
}
// Strings, lists and maps inside a value are counted in 32 bits.
inline tl::unexpected<Error> not_encoded(std::string_view type) {
  return tl::unexpected(
      Error{ErrorCode::too_large,
            "a value of type " + std::string(type) +
                " cannot be encoded: a string, list or map in it has 2^32 items or more, which "
                "msgpack cannot count; split it, or make that part an object of its own"});
}
// The same as not_the_type(), and of what.
inline tl::unexpected<Error> not_decoded(const std::string& what, Error&& why) {
  return tl::unexpected(Error{why.code, what + ": " + why.message});
}

// Anything that is not plain: decoded once, and shared.
template <class T>
struct ObjectCodec {
  static constexpr bool kIsArray = false;
  static constexpr bool kIsPlain = false;
  using Value = std::shared_ptr<const T>;
  using Source = T;

  static constexpr std::string_view type() noexcept { return type_name<T>; }
  static std::uint64_t type_hash() {
    static const std::uint64_t hash = hash_of_type(type());
    return hash;
  }

  class Encoded {
   public:
    explicit Encoded(const T& value) {
      if constexpr (Codec<T>::kForm == Form::raw) {
        const auto elements = Codec<T>::view(value);
        const auto bytes = std::as_bytes(std::span(elements.data(), elements.size()));
        bytes_.assign(bytes.begin(), bytes.end());
      } else {
        std::size_t size = 1024;
        for (int attempt = 0; attempt < 2; ++attempt) {
          bytes_.resize(size);
          ByteSink sink(bytes_.data(), bytes_.size());
          Packer packer(sink);
          Codec<T>::pack(packer, value);
          ok_ = !sink.failed();
          size = ok_ ? sink.size() : 0;
          if (size <= bytes_.size()) break;
        }
        bytes_.resize(size);
      }
      part_ = bytes_;
    }
    Encoded(Encoded&& other) noexcept
        : bytes_(std::move(other.bytes_)), part_(bytes_), ok_(other.ok_) {}
    // False: not_encoded() says why, and there are no bytes.
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] ObjectParts parts() const noexcept { return {&part_, 1}; }
    [[nodiscard]] std::span<const std::byte> whole() const noexcept { return part_; }

   private:
    std::vector<std::byte> bytes_;
    std::span<const std::byte> part_;
    bool ok_ = true;
  };

  static Result<Value> decode(std::span<const std::byte> bytes) {
    auto value = std::make_shared<T>();
    if constexpr (Codec<T>::kForm == Form::raw) {
      using Element = typename Codec<T>::Element;
      if (bytes.size() % sizeof(Element) != 0) return not_the_type(type(), "a part is missing");
      const auto* first = reinterpret_cast<const Element*>(bytes.data());
      value->assign(first, first + bytes.size() / sizeof(Element));
    } else {
      Unpacker in(bytes);
      if (!Codec<T>::unpack(in, *value) || in.remaining() != 0) {
        return not_the_type(type(), "the msgpack value is of another type");
      }
    }
    return Value(std::move(value));
  }
  static const T& get(const Value& value) noexcept { return *value; }
  static const T* arrow(const Value& value) noexcept { return value.get(); }
};

// A plain value is read where it lies.
template <class T>
  requires(!std::is_array_v<T>) && (kPlain<T>)
struct ObjectCodec<T> {
  static constexpr bool kIsArray = false;
  static constexpr bool kIsPlain = true;
  using Value = const T*;
  using Source = T;

  static constexpr std::string_view type() noexcept { return type_name<T>; }
  static std::uint64_t type_hash() {
    static const std::uint64_t hash = hash_of_type(type());
    return hash;
  }

  class Encoded {
   public:
    explicit Encoded(const T& value) noexcept : part_(std::as_bytes(std::span(&value, 1))) {}
    [[nodiscard]] static constexpr bool ok() noexcept { return true; }
    [[nodiscard]] ObjectParts parts() const noexcept { return {&part_, 1}; }
    [[nodiscard]] std::span<const std::byte> whole() const noexcept { return part_; }

   private:
    std::span<const std::byte> part_;
  };

  static Result<Value> decode(std::span<const std::byte> bytes) {
    if (bytes.size() != sizeof(T)) return not_the_type(type(), "it has another size");
    if (!PlainCheck<T>::valid(bytes.data()))
      return not_the_type(type(), "a bool is neither 0 nor 1");
    return reinterpret_cast<Value>(bytes.data());
  }
  static const T& get(Value value) noexcept { return *value; }
  static const T* arrow(Value value) noexcept { return value; }
};

template <class T>
struct ObjectCodec<T[]> {
  static_assert(kPlain<T>, "godwit: the elements of an array object are plain (docs/types.md)");
  static constexpr bool kIsArray = true;
  static constexpr bool kIsPlain = false;
  using Element = T;
  using Value = std::span<const T>;
  using Source = std::span<const T>;

  static constexpr std::string_view type() noexcept { return type_name<std::vector<T>>; }
  static std::uint64_t type_hash() {
    static const std::uint64_t hash = hash_of_type(type());
    return hash;
  }

  class Encoded {
   public:
    explicit Encoded(std::span<const T> elements) noexcept : part_(std::as_bytes(elements)) {}
    [[nodiscard]] static constexpr bool ok() noexcept { return true; }
    [[nodiscard]] ObjectParts parts() const noexcept { return {&part_, 1}; }
    [[nodiscard]] std::span<const std::byte> whole() const noexcept { return part_; }

   private:
    std::span<const std::byte> part_;
  };

  static Result<Value> decode(std::span<const std::byte> bytes) {
    if (bytes.size() % sizeof(T) != 0)
      return not_the_type(type(), "a part of an element is missing");
    if constexpr (PlainCheck<T>::kNeeded) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        if (!PlainCheck<T>::valid(bytes.data() + at)) {
          return not_the_type(type(), "a bool is neither 0 nor 1");
        }
      }
    }
    return Value(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  }
  static Value get(const Value& value) noexcept { return value; }
  static const Value* arrow(const Value& value) noexcept { return &value; }
};

// What `use` makes of the value's bytes; too_large if there are none, and then it is not called.
// A plain value is not copied, so whatever the caller's argument was converted to has to live until
// the bytes were used: that it does within one call.
template <class Stored, class Use>
auto with_encoded(const typename ObjectCodec<Stored>::Source& value, const Use& use)
    -> decltype(use(ObjectParts{})) {
  const typename ObjectCodec<Stored>::Encoded encoded(value);
  if (!encoded.ok()) return not_encoded(ObjectCodec<Stored>::type());
  return use(encoded.parts());
}

}  // namespace godwit::detail
