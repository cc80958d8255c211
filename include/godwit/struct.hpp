// GODWIT_STRUCT: makes a struct known to the type grammar.
//
//   namespace sky { struct Point { double x, y; std::uint32_t id; }; GODWIT_STRUCT(Point, x, y,
//   id); }
//
// At namespace scope, in the struct's own namespace, after the struct; every field in order, at
// most
// 32. A struct whose fields are all plain travels as memory (padding bytes included, whatever they
// hold); any other travels as msgpack. Its grammar name is the name given here.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace godwit {

template <class Owner, class Value>
struct StructField {
  using Type = Value;
  std::string_view name;
  std::size_t offset;  // zero if Owner is not of standard layout
  Value Owner::* member;
};

// What GODWIT_STRUCT recorded of a struct.
template <class... Fields>
struct StructInfo {
  std::string_view name;
  std::tuple<Fields...> fields;

  // visit(field, field, ...)
  template <class Visit>
  constexpr decltype(auto) each(Visit&& visit) const {
    return std::apply(visit, fields);
  }

  // No room between the fields, nor after them, for one that was left out (padding apart).
  [[nodiscard]] constexpr bool is_dense(std::size_t struct_size, std::size_t struct_align) const {
    std::size_t end = 0;
    bool dense = true;
    const auto visit = [&](const auto& field) {
      using Value = typename std::remove_cvref_t<decltype(field)>::Type;
      dense = dense && field.offset >= end && field.offset - end < alignof(Value);
      end = field.offset + sizeof(Value);
    };
    each([&](const auto&... all) { (visit(all), ...); });
    return dense && struct_size - end < struct_align;
  }
};

template <class T>
concept Described =
    std::is_class_v<T> && requires { godwit_struct_of(static_cast<const T*>(nullptr)); };

template <Described T>
[[nodiscard]] constexpr auto describe() {
  return godwit_struct_of(static_cast<const T*>(nullptr));
}

namespace detail {
template <class Field>
using ValueOf = typename std::remove_cvref_t<Field>::Type;

template <class Owner, class Value>
constexpr StructField<Owner, Value> field(std::string_view name, std::size_t offset,
                                          Value Owner::* member) {
  return {name, offset, member};
}

template <class... Fields>
constexpr StructInfo<Fields...> struct_info(std::string_view name, Fields... fields) {
  static_assert(sizeof...(Fields) > 0 && sizeof...(Fields) <= 32,
                "godwit: GODWIT_STRUCT takes 1 to 32 fields");
  return {name.substr(name.rfind(':') + 1), {fields...}};
}
}  // namespace detail

}  // namespace godwit

// GODWIT_EACH(macro, context, a, b, ...) is macro(context, a), macro(context, b), ...; the nesting
// of the rescans bounds the number of arguments (well above the 32 that struct_info() admits).
#define GODWIT_PARENS ()
#define GODWIT_RESCAN(...) GODWIT_RESCAN_3(GODWIT_RESCAN_3(GODWIT_RESCAN_3(__VA_ARGS__)))
#define GODWIT_RESCAN_3(...) GODWIT_RESCAN_2(GODWIT_RESCAN_2(GODWIT_RESCAN_2(__VA_ARGS__)))
#define GODWIT_RESCAN_2(...) GODWIT_RESCAN_1(GODWIT_RESCAN_1(GODWIT_RESCAN_1(__VA_ARGS__)))
#define GODWIT_RESCAN_1(...) __VA_ARGS__
#define GODWIT_EACH(macro, context, ...) \
  __VA_OPT__(GODWIT_RESCAN(GODWIT_EACH_STEP(macro, context, __VA_ARGS__)))
#define GODWIT_EACH_STEP(macro, context, item, ...) \
  macro(context, item) __VA_OPT__(, GODWIT_EACH_AGAIN GODWIT_PARENS(macro, context, __VA_ARGS__))
#define GODWIT_EACH_AGAIN() GODWIT_EACH_STEP

// The template keeps offsetof away from types where it has no meaning.
#define GODWIT_STRUCT_FIELD(Struct, name)                      \
  ::godwit::detail::field(                                     \
      #name,                                                   \
      []<class Owner>(const Owner*) constexpr -> std::size_t { \
        if constexpr (std::is_standard_layout_v<Owner>) {      \
          return offsetof(Owner, name);                        \
        } else {                                               \
          return 0;                                            \
        }                                                      \
      }(static_cast<const Struct*>(nullptr)),                  \
      &Struct::name)

#define GODWIT_STRUCT(Struct, ...)                                                               \
  [[maybe_unused]] constexpr auto godwit_struct_of(const Struct*) {                              \
    return ::godwit::detail::struct_info(#Struct,                                                \
                                         GODWIT_EACH(GODWIT_STRUCT_FIELD, Struct, __VA_ARGS__)); \
  }                                                                                              \
  static_assert(::godwit::Described<Struct>,                                                     \
                "godwit: GODWIT_STRUCT belongs in the struct's own namespace")
