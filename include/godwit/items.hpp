// The kinds of items an Exchange moves.
//
//   godwit::Exchange<Ray, ShadowRay, godwit::Reduced<Deposit>, godwit::Tailed<Path, Vertex>>
//
// A plain item is any trivially copyable struct of at most 4 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "godwit/kernel.hpp"

namespace godwit {

// Items that are not queued for a kernel but folded into the destination's own data when they
// arrive (Exchange::reduce says how): pixels to accumulate, tallies, nearest hits.
template <class T>
struct Reduced {};

// Items with a tail: a Head and any number of Elements, different for each item.
template <class Head, class Element>
struct Tailed {};

// An item with a tail, as a kernel sees it: valid until the kernel returns.
template <class Head, class Element>
struct WithTail {
  Head head;
  std::span<const Element> tail;
};

namespace detail {

enum class ItemForm : std::uint8_t { plain, reduced, tailed };

// Begins the record of an item with a tail.
struct TailMark {
  std::uint32_t elements = 0;
  std::uint32_t bytes = 0;  // of the whole record, this mark included
};

inline constexpr std::size_t kMaxItemBytes = 4096;
inline constexpr std::size_t kMaxItemAlign = 64;

template <class T>
constexpr void check_item() {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "godwit: an item travels as memory: make it trivially copyable (no pointers to what "
      "it owns, no std::string or std::vector; use Tailed<Head, Element> for a payload of "
      "any length)");
  static_assert(!std::is_pointer_v<T>, "godwit: a pointer means nothing on another rank");
  static_assert(sizeof(T) <= kMaxItemBytes,
                "godwit: items are at most 4 KiB; put what is larger into a Tailed item's tail, or "
                "into an object and send its handle");
  static_assert(alignof(T) <= kMaxItemAlign, "godwit: items are aligned to at most 64 bytes");
}

// Of a type parameter of Exchange: which C++ type is emitted, and in which form it travels.
template <class T>
struct ItemTraits {
  using Value = T;  // what emit() takes
  using Seen = T;   // what the kernel gets
  static constexpr ItemForm kForm = ItemForm::plain;
  static constexpr std::uint32_t kTailSize = 0;
  static constexpr std::uint32_t kTailAt = 0;
  static constexpr std::uint32_t kAlign = alignof(T);
};
template <class T>
struct ItemTraits<Reduced<T>> {
  using Value = T;
  using Seen = T;
  static constexpr ItemForm kForm = ItemForm::reduced;
  static constexpr std::uint32_t kTailSize = 0;
  static constexpr std::uint32_t kTailAt = 0;
  static constexpr std::uint32_t kAlign = alignof(T);
};
template <class Head, class Element>
struct ItemTraits<Tailed<Head, Element>> {
  using Value = Head;
  using Seen = WithTail<Head, Element>;
  using Tail = Element;
  static constexpr ItemForm kForm = ItemForm::tailed;
  static constexpr std::uint32_t kTailSize = sizeof(Element);

  // A record: the mark, the head, the tail, each at its alignment; records at kAlign.
  static constexpr std::uint32_t kAlign =
      std::max({alignof(TailMark), alignof(Head), alignof(Element)});
  static constexpr std::size_t up(std::size_t at, std::size_t align) {
    return (at + align - 1) / align * align;
  }
  static constexpr std::size_t kHeadAt = up(sizeof(TailMark), alignof(Head));
  static constexpr std::uint32_t kTailAt = up(kHeadAt + sizeof(Head), alignof(Element));
  static constexpr std::size_t record_bytes(std::size_t elements) {
    return up(kTailAt + elements * sizeof(Element), kAlign);
  }
};

// How many of Items are emitted as a T.
template <class T, class... Items>
inline constexpr int kEmittedAs =
    (0 + ... + int{std::is_same_v<T, typename ItemTraits<Items>::Value>});

template <class Item>
constexpr void check_parts() {
  check_item<typename ItemTraits<Item>::Value>();
  if constexpr (ItemTraits<Item>::kForm == ItemForm::tailed) {
    check_item<typename ItemTraits<Item>::Tail>();
  }
}

// What every Exchange asks of its item types, on CPU threads and on a GPU.
template <class... Items>
constexpr void check_item_types() {
  (check_parts<Items>(), ...);
  static_assert(((kEmittedAs<typename ItemTraits<Items>::Value, Items...> == 1) && ...),
                "godwit: two item types of this Exchange are emitted as one C++ type (T and "
                "Reduced<T>, or T and Tailed<T, ...>), and nothing would tell them apart: give one "
                "of them a struct of its own");
}

// The place of the item whose value type is T among Items.
template <class T, class... Items>
constexpr std::uint32_t kind_of() {
  constexpr bool same[] = {std::is_same_v<T, typename ItemTraits<Items>::Value>...};
  std::uint32_t at = sizeof...(Items);
  for (std::uint32_t i = 0; i < sizeof...(Items); ++i) {
    if (same[i] && at == sizeof...(Items)) at = i;
  }
  return at;
}

template <std::uint32_t kind, class... Items>
using TraitsOf = ItemTraits<std::tuple_element_t<kind, std::tuple<Items...>>>;

// What ranks tell each other of an item type before anything moves.
struct ItemType {
  std::string_view name;
  std::uint32_t size = 0;       // of the value
  std::uint32_t tail_size = 0;  // of one element of the tail
  std::uint32_t tail_at = 0;    // where the tail begins in a record
  std::uint32_t align = 1;      // of records
  ItemForm form = ItemForm::plain;
};

// A type's name without its namespaces, as far as compilers agree on it: for messages, and to tell
// two types of one size apart.
template <class T>
constexpr std::string_view simple_name() {
  constexpr std::string_view whole = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = whole.find("T = ") + 4;
  constexpr std::string_view spelled =
      whole.substr(begin, whole.find_first_of(";]", begin) - begin);
  constexpr std::size_t scope = spelled.substr(0, spelled.find('<')).rfind("::");
  return scope == std::string_view::npos ? spelled : spelled.substr(scope + 2);
}

template <class Item>
constexpr ItemType item_type() {
  using Traits = ItemTraits<Item>;
  return {.name = simple_name<typename Traits::Value>(),
          .size = sizeof(typename Traits::Value),
          .tail_size = Traits::kTailSize,
          .tail_at = Traits::kTailAt,
          .align = Traits::kAlign,
          .form = Traits::kForm};
}

}  // namespace detail
}  // namespace godwit
