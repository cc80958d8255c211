// Handles on objects as mobile code sees them: it resolves them where it runs, makes new ones
// there, and passes them on.
//
//   godwit::HandleOf<double[]> scaled(godwit::Here& here, godwit::HandleOf<double[]> x, double by)
//   {
//     const std::span<const double> all = here.resolve(x);
//     ...
//     return here.put(result);
//   }
//
// A program that calls such a function has a Ref<double[]> where this has a HandleOf<double[]>
// (<godwit/ref.hpp>).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "godwit/codec.hpp"
#include "godwit/mobile/call.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/types.hpp"

namespace godwit {

// The 64 bytes of a handle (godwit/handle.hpp) on an object of type T; T[] for an array. Whatever
// it claims is checked at the object's home.
template <class T>
struct HandleOf {
  std::uint16_t format = 0;
  std::uint16_t rights = 0;
  std::uint32_t key_id = 0;
  std::array<std::uint8_t, 16> object{};
  std::uint64_t version = 0;
  std::uint64_t size = 0;  // in bytes
  std::uint64_t type = 0;
  std::uint64_t home = 0;
  std::uint64_t mac = 0;

  // Where the object is: calls that need it are cheapest there.
  [[nodiscard]] Node node() const noexcept { return {home}; }
  friend bool operator==(const HandleOf&, const HandleOf&) = default;
};

// Until when an object that mobile code puts lives, if nobody evicts it before.
struct ObjectTerms {
  std::uint32_t lifetime = GODWIT_LIVES_UNTIL_EVICTED;  // GODWIT_LIVES_...
  std::uint32_t readers = 0;                            // of GODWIT_LIVES_FOR_READERS
  std::int64_t lease_ns = 0;                            // of GODWIT_LIVES_FOR_LEASE
};

namespace detail {

// How the type of an object is spelled.
template <class T>
struct ObjectTypeOf : TypeOf<T> {};
template <class T>
struct ObjectTypeOf<T[]> {
  static_assert(kPlain<T>, "godwit: the elements of an array object are plain (docs/types.md)");
  static constexpr void spell(Speller& out) noexcept {
    out.put("list<");
    TypeOf<T>::spell(out);
    out.put(">");
  }
};
template <>
struct ObjectTypeOf<std::byte[]> {
  static constexpr void spell(Speller& out) noexcept { out.put("bytes"); }
};

}  // namespace detail

// The canonical string of an object's type.
template <class T>
inline constexpr const auto& object_type_name = detail::Spelled<detail::ObjectTypeOf<T>>::kText;

template <class T>
struct TypeOf<HandleOf<T>> {
  static_assert(sizeof(HandleOf<T>) == 64 && alignof(HandleOf<T>) == 8);
  static constexpr bool kPlain = true;
  static constexpr void spell(Speller& out) noexcept {
    out.put("ref<");
    detail::ObjectTypeOf<T>::spell(out);
    out.put(">");
  }
};

template <class T>
struct Codec<HandleOf<T>> {
  static constexpr Form kForm = Form::plain;
  static void pack(Packer& out, const HandleOf<T>& handle) noexcept {
    out.bin(std::as_bytes(std::span(&handle, 1)));
  }
  static bool unpack(Unpacker& in, HandleOf<T>& handle) noexcept {
    std::span<const std::byte> bytes;
    if (!in.bin(bytes) || bytes.size() != sizeof handle) return false;
    std::memcpy(static_cast<void*>(&handle), bytes.data(), sizeof handle);
    return true;
  }
};

namespace detail {

template <class V>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

// What a value is put as: elements one after another as an array, anything plain as itself.
template <class V>
concept Elements = !Described<V> && !kIsArray<V> && requires(const V& value) {
  value.data();
  value.size();
};
template <class V>
struct PutAs {
  static_assert(kPlain<V>,
                "godwit: mobile code puts plain values and arrays of such (docs/types.md)");
  using type = V;
  static std::span<const std::byte> bytes(const V& value) noexcept {
    return std::as_bytes(std::span(&value, 1));
  }
};
template <Elements V>
struct PutAs<V> {
  using Element = std::remove_cvref_t<decltype(*std::declval<const V&>().data())>;
  using type = Element[];
  static std::span<const std::byte> bytes(const V& value) noexcept {
    return std::as_bytes(std::span<const Element>(value.data(), value.size()));
  }
};
template <class V>
using StoredBy = typename PutAs<std::remove_cvref_t<V>>::type;

inline bool knows_handles(const godwit_here_v1* here) noexcept {
  return here->size >= offsetof(godwit_here_v1, put_object) + sizeof here->put_object;
}

template <class T>
std::int32_t resolve_bytes(const godwit_here_v1* here, const HandleOf<T>& handle,
                           std::span<const std::byte>& bytes) noexcept {
  if (!knows_handles(here)) return kUnsupported;
  constexpr std::string_view kType = object_type_name<T>;
  godwit_bytes found{};
  const std::int32_t error =
      here->resolve_object(here, &handle, kType.data(), kType.size(), &found);
  bytes = {static_cast<const std::byte*>(found.data), found.size};
  return error;
}

template <class T>
[[nodiscard]] bool all_valid(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() % sizeof(T) != 0) return false;
  for (std::size_t at = 0; PlainCheck<T>::kNeeded && at < bytes.size(); at += sizeof(T)) {
    if (!PlainCheck<T>::valid(bytes.data() + at)) return false;
  }
  return true;
}

// What does not look like its type, although its home says it is of it.
inline constexpr std::int32_t kBadFormat = 104;

template <class T>
std::int32_t resolve_into(const godwit_here_v1* here, const HandleOf<T[]>& handle,
                          std::span<const T>& elements) noexcept {
  std::span<const std::byte> bytes;
  if (const std::int32_t error = resolve_bytes(here, handle, bytes); error != 0) return error;
  if (!all_valid<T>(bytes)) return kBadFormat;
  elements = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  return 0;
}
template <class T>
std::int32_t resolve_into(const godwit_here_v1* here, const HandleOf<T>& handle,
                          const T*& value) noexcept {
  static_assert(kPlain<T>,
                "godwit: mobile code resolves plain objects and arrays of such (docs/types.md)");
  std::span<const std::byte> bytes;
  if (const std::int32_t error = resolve_bytes(here, handle, bytes); error != 0) return error;
  if (bytes.size() != sizeof(T) || !all_valid<T>(bytes)) return kBadFormat;
  value = reinterpret_cast<const T*>(bytes.data());
  return 0;
}

template <class V>
std::int32_t put_bytes(const godwit_here_v1* here, const V& value, const ObjectTerms& terms,
                       HandleOf<StoredBy<V>>& handle) noexcept {
  if (!knows_handles(here)) return kUnsupported;
  constexpr std::string_view kType = object_type_name<StoredBy<V>>;
  const std::span<const std::byte> bytes = PutAs<V>::bytes(value);
  const godwit_bytes part{bytes.data(), bytes.size()};
  const godwit_put_v1 request{
      sizeof(godwit_put_v1), terms.lifetime, terms.readers, 0, terms.lease_ns,
      kType.data(),          kType.size(),   &part,         1};
  return here->put_object(here, &request, &handle);
}

inline bool settles_objects(const godwit_here_v1* here) noexcept {
  return here->size >= offsetof(godwit_here_v1, settle_object) + sizeof here->settle_object;
}

template <class V>
std::int32_t settle_with(const godwit_here_v1* here, std::uint32_t how, const V& value,
                         const HandleOf<StoredBy<V>>& handle,
                         HandleOf<StoredBy<V>>* settled) noexcept {
  if (!settles_objects(here)) return kUnsupported;
  constexpr std::string_view kType = object_type_name<StoredBy<V>>;
  const std::span<const std::byte> bytes = PutAs<V>::bytes(value);
  const godwit_bytes part{bytes.data(), bytes.size()};
  const godwit_settle_v1 request{
      sizeof(godwit_settle_v1), how, kType.data(), kType.size(), &part, 1, 0, nullptr, 0};
  return here->settle_object(here, &handle, &request, settled);
}

inline std::int32_t break_promise(const godwit_here_v1* here, const void* handle,
                                  std::int32_t error, std::string_view why) noexcept {
  if (!settles_objects(here)) return kUnsupported;
  const godwit_settle_v1 request{sizeof(godwit_settle_v1),
                                 GODWIT_BREAK_PROMISE,
                                 nullptr,
                                 0,
                                 nullptr,
                                 0,
                                 error,
                                 why.data(),
                                 why.size()};
  return here->settle_object(here, handle, &request, nullptr);
}

}  // namespace detail
}  // namespace godwit
