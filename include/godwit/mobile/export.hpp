// GODWIT_EXPORT: makes a function callable from other nodes.
//
//   GODWIT_EXPORT(norm);
//   GODWIT_EXPORT(norm, inline_);               short, never blocks: runs on the polling thread
//   GODWIT_EXPORT(norm, inline_, idempotent);   may run again if its node is lost
//
// At namespace scope, in the function's namespace, once per function of a bundle; the bundle knows
// it by its unqualified name. The function takes an optional leading godwit::Here& and parameters
// by value or const reference; spans and string views point into the call's arguments and are
// valid until it returns. An exception that escapes ends the call as app_error with its what(), a
// CallFailed also with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __cpp_exceptions
#include <exception>
#endif
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "godwit/codec.hpp"
#include "godwit/mobile/here.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::mobile {

enum class Flag : std::uint32_t {};
namespace flags {
inline constexpr Flag inline_{GODWIT_EXPORT_INLINE};
inline constexpr Flag idempotent{GODWIT_EXPORT_IDEMPOTENT};
}  // namespace flags

template <class... Flags>
constexpr std::uint32_t combine(Flags... given) noexcept {
  static_assert((std::is_same_v<Flags, Flag> && ...),
                "godwit: GODWIT_EXPORT knows the flags inline_ and idempotent");
  return (0U | ... | static_cast<std::uint32_t>(given));
}

// Leaves a message in the reply, about an argument (counted from 1) or in general (0), and returns
// `code`; cut to what the node has room for. Every bundle carries and compiles this.
[[gnu::cold, gnu::noinline]] inline std::int32_t explain(godwit_reply* reply, std::int32_t code,
                                                         const char* text,
                                                         std::size_t argument = 0) noexcept {
  static_assert(kItemLimit < 100, "two digits name an argument");
  constexpr std::size_t kLongestPrefix = sizeof "argument 32: " - 1;
  const std::size_t prefix = argument == 0 ? 0 : kLongestPrefix;
  std::size_t size = std::strlen(text);
  void* room = reply->data;
  if (prefix + size > reply->capacity) {
    room = reply->reserve(reply, prefix + size);
    if (room == nullptr) {
      room = reply->data;
      size = reply->capacity - prefix;
    }
  }
  char* out = static_cast<char*>(room);
  if (argument != 0) {
    std::memcpy(out, "argument ", 9);
    out += 9;
    if (argument >= 10) *out++ = static_cast<char>('0' + argument / 10);
    *out++ = static_cast<char>('0' + argument % 10);
    *out++ = ':';
    *out++ = ' ';
  }
  std::memcpy(out, text, size);
  reply->size = static_cast<std::size_t>(out - static_cast<char*>(room)) + size;
  return code;
}

// Encodes a result into the reply, asking for room if it needs more than is offered.
template <class R>
std::int32_t answer(godwit_reply* reply, const R& value) {
  BlobWriter writer({static_cast<std::byte*>(reply->data), reply->capacity}, {});
  write_blob(writer, value);
  if (!writer.fits()) {
    const std::size_t size = writer.size();
    void* room = reply->reserve(reply, size);
    if (room == nullptr) {
      return explain(reply, GODWIT_APP_ERROR, "the node has no room for a result of this size");
    }
    writer = BlobWriter({static_cast<std::byte*>(room), size}, {});
    write_blob(writer, value);
  }
  if (writer.failed()) {
    return explain(reply, GODWIT_APP_ERROR, "a container in the result has too many items");
  }
  reply->size = writer.size();
  return GODWIT_OK;
}

template <class T>
inline constexpr bool kIsNext = false;
template <class T>
inline constexpr bool kIsNext<Next<T>> = true;

template <class Invoke>
std::int32_t finish(const godwit_here_v1* here, godwit_reply* reply, Invoke&& invoke) {
  using R = std::remove_cvref_t<decltype(invoke())>;
  if constexpr (std::is_void_v<R>) {
    invoke();
    reply->size = 0;
    return GODWIT_OK;
  } else if constexpr (kIsNext<R>) {
    const R next = invoke();
    if (next.status() != GODWIT_OK) {
      if (next.error() == 0) return next.status();
      return explain(reply, GODWIT_FAILED_WITH + next.error(), here->last_error(here));
    }
    return finish(here, reply, [&]() -> decltype(auto) {
      if constexpr (!std::is_same_v<R, Next<void>>) return (next.value());
    });
  } else {
    return answer<R>(reply, invoke());
  }
}

template <auto Function>
std::int32_t run(const godwit_here_v1* table, const void* args, std::size_t args_size,
                 godwit_reply* reply) {
  using Type = detail::FunctionType<decltype(Function)>;
  typename Type::Sig::Values values{};
  DecodeError error;
  if (!decode({static_cast<const std::byte*>(args), args_size}, values, error)) {
    return explain(reply, GODWIT_BAD_ARGS, error.what, error.argument);
  }
  return finish(table, reply, [&]() -> decltype(auto) {
    return std::apply(
        [&](auto&... value) -> decltype(auto) {
          if constexpr (Type::kTakesHere) {
            Here here(table);
            return Function(here, std::move(value)...);
          } else {
            return Function(std::move(value)...);
          }
        },
        values);
  });
}

// The body of a generated entry: nothing escapes it.
template <auto Function>
std::int32_t enter(const godwit_here_v1* here, const void* args, std::size_t args_size,
                   godwit_reply* reply) noexcept {
#ifdef __cpp_exceptions
  try {
    return run<Function>(here, args, args_size, reply);
  } catch (const CallFailed& failed) {
    const auto reason = static_cast<std::int32_t>(failed.reason());
    return explain(reply, reason > 0 ? GODWIT_FAILED_WITH + reason : GODWIT_APP_ERROR,
                   failed.what());
  } catch (const std::exception& exception) {
    return explain(reply, GODWIT_APP_ERROR, exception.what());
  } catch (...) {
    return explain(reply, GODWIT_APP_ERROR, "unknown exception");
  }
#else
  return run<Function>(here, args, args_size, reply);
#endif
}

// A godwit_export_v1 with its strings behind it.
template <std::size_t Name, std::size_t Signature, std::size_t Entry>
struct alignas(8) ExportRecord {
  godwit_export_v1 head;
  char name[Name];
  char signature[Signature];
  char entry[Entry];
};

template <class Function, std::size_t NameChars, std::size_t EntryChars>
consteval auto export_record(const char (&name)[NameChars], const char (&entry)[EntryChars],
                             std::uint32_t flags) {
  constexpr std::size_t kSignature = signature_of<Function>.view().size() + 1;
  using Record = ExportRecord<NameChars, kSignature, EntryChars>;
  Record record{};
  const auto at = [](std::size_t offset) {
    return static_cast<std::uint32_t>(sizeof(godwit_export_v1) + offset);
  };
  record.head = {
      .size = sizeof(Record),
      .flags = flags,
      .name_offset = at(0),
      .name_size = NameChars - 1,
      .signature_offset = at(NameChars),
      .signature_size = kSignature - 1,
      .entry_offset = at(NameChars + kSignature),
      .entry_size = EntryChars - 1,
  };
  for (std::size_t i = 0; i < NameChars; ++i) record.name[i] = name[i];
  for (std::size_t i = 0; i < kSignature; ++i)
    record.signature[i] = signature_of<Function>.chars[i];
  for (std::size_t i = 0; i < EntryChars; ++i) record.entry[i] = entry[i];
  return record;
}

}  // namespace godwit::mobile

#if __has_attribute(retain)
#define GODWIT_RETAIN gnu::retain
#else
#define GODWIT_RETAIN gnu::used
#endif

// The explicit alignment keeps compilers from aligning records to more, which would leave gaps.
#define GODWIT_EXPORT(function, ...)                                                           \
  extern "C" [[gnu::visibility("default"), gnu::used]] ::std::int32_t godwit_entry_##function( \
      const godwit_here_v1* here, const void* args, ::std::size_t args_size,                   \
      godwit_reply* reply) {                                                                   \
    return ::godwit::mobile::enter<&function>(here, args, args_size, reply);                   \
  }                                                                                            \
  static_assert(::godwit::detail::export_name<&function>() == #function,                       \
                "godwit: GODWIT_EXPORT takes the unqualified name of a plain function");       \
  [[gnu::section("godwit_exports"), gnu::used, GODWIT_RETAIN, gnu::aligned(8)]]                \
  constinit const auto godwit_export_of_##function =                                           \
      ::godwit::mobile::export_record<decltype(&function)>(                                    \
          #function, "godwit_entry_" #function, [] {                                           \
            using namespace ::godwit::mobile::flags;                                           \
            return ::godwit::mobile::combine(__VA_ARGS__);                                     \
          }())
