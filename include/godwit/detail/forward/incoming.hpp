// Incoming: a round's items of one kind, which lie in chunks, as one range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <type_traits>

#include "godwit/detail/forward/chunk.hpp"
#include "godwit/items.hpp"

namespace godwit {

namespace detail {

// A chunk's plain or reduced items.
template <class T>
std::span<const T> items_of(const Chunk& chunk) noexcept {
  return {reinterpret_cast<const T*>(chunk.items()), chunk.count};
}

// A chunk's items with tails.
template <class Traits, class Visit>
void each_record(const Chunk& chunk, Visit&& visit) {
  const std::byte* at = chunk.items();
  for (std::uint32_t i = 0; i < chunk.count; ++i) {
    TailMark mark;
    std::memcpy(&mark, at, sizeof mark);
    typename Traits::Seen seen;
    std::memcpy(&seen.head, at + Traits::kHeadAt, sizeof seen.head);
    seen.tail = {reinterpret_cast<const typename Traits::Tail*>(at + Traits::kTailAt),
                 mark.elements};
    visit(seen);
    at += mark.bytes;
  }
}

template <class Item, class Visit>
void each_item(const Chunk& chunk, Visit&& visit) {
  using Traits = ItemTraits<Item>;
  if constexpr (Traits::kForm == ItemForm::tailed) {
    each_record<Traits>(chunk, visit);
  } else {
    for (const auto& item : items_of<typename Traits::Value>(chunk)) visit(item);
  }
}

// Runs the kernel over a chunk if its items are of this kind; reduced ones never get here.
template <class Item, class Kernel, class Out>
void process_chunk(std::uint32_t kind, const Chunk& chunk, const Kernel& kernel, Out& out) {
  if constexpr (ItemTraits<Item>::kForm != ItemForm::reduced) {
    static_assert(std::is_invocable_v<const Kernel&, const typename ItemTraits<Item>::Seen&, Out&>,
                  "godwit: the kernel takes no item of this type; it needs "
                  "operator()(const Item& item, Out& out) const for each, and for a "
                  "Tailed<Head, Element> with a WithTail<Head, Element>");
    if (chunk.kind != kind) return;
    each_item<Item>(chunk, [&](const auto& item) { kernel(item, out); });
  }
}

// Emits the items of a saved chunk again, if they are of this kind.
template <class Item, class Route, class Out>
void replay_chunk(std::uint32_t kind, const Chunk& chunk, const Route& route, Out& out) {
  if (chunk.kind != kind) return;
  each_item<Item>(chunk, [&](const auto& item) {
    const Rank to = route(item, chunk.destination);
    if constexpr (ItemTraits<Item>::kForm == ItemForm::tailed) {
      out.emit(item.head, item.tail, to, chunk.priority);
    } else {
      out.emit(item, to, chunk.priority);
    }
  });
}

}  // namespace detail

// The items of type T that arrived this round. Walking over them costs what walking over an array
// does; size() is counted when the range is made.
template <class T, class... Items>
class Incoming {
 public:
  static_assert(detail::kind_of<T, Items...>() < sizeof...(Items),
                "godwit: no such item type in this Exchange");
  static_assert(detail::TraitsOf<detail::kind_of<T, Items...>(), Items...>::kForm ==
                    detail::ItemForm::plain,
                "godwit: only plain items are incoming as a range; process() passes those with "
                "tails to a kernel, and reduced ones are folded as they arrive");

  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = const T&;
    using iterator_category = std::forward_iterator_tag;

    Iterator() = default;
    reference operator*() const noexcept { return *at_; }
    const T* operator->() const noexcept { return at_; }
    Iterator& operator++() noexcept {
      if (++at_ == end_) settle(++chunk_);
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    friend class Incoming;
    explicit Iterator(std::span<const detail::Chunk* const> chunks) noexcept : chunks_(chunks) {
      settle(0);
    }
    void settle(std::size_t from) noexcept {
      chunk_ = from;
      at_ = end_ = nullptr;
      while (chunk_ < chunks_.size() && !is_mine(*chunks_[chunk_])) ++chunk_;
      if (chunk_ == chunks_.size()) return;
      const auto items = detail::items_of<T>(*chunks_[chunk_]);
      at_ = items.data();
      end_ = at_ + items.size();
    }

    std::span<const detail::Chunk* const> chunks_;
    std::size_t chunk_ = 0;
    const T* at_ = nullptr;
    const T* end_ = nullptr;
  };

  explicit Incoming(std::span<const detail::Chunk* const> chunks) noexcept : chunks_(chunks) {
    for (const detail::Chunk* const chunk : chunks_) {
      if (is_mine(*chunk)) size_ += chunk->count;
    }
  }
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(chunks_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  [[nodiscard]] static bool is_mine(const detail::Chunk& chunk) noexcept {
    return chunk.kind == detail::kind_of<T, Items...>() && chunk.count > 0;
  }

  std::span<const detail::Chunk* const> chunks_;
  std::size_t size_ = 0;
};

}  // namespace godwit
