// Emitter: how a kernel on CPU threads, or host code, hands items to ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "godwit/detail/forward/chunk.hpp"
#include "godwit/detail/forward/port.hpp"
#include "godwit/items.hpp"
#include "godwit/kernel.hpp"

namespace godwit {

// Used by one thread. Writes each item into the open chunk of its destination.
template <class... Items>
class Emitter {
 public:
  Emitter(detail::Port& port, std::size_t worker, Rank rank, Rank ranks) noexcept
      : port_(&port),
        cursors_(port.cursors(worker).data()),
        worker_(worker),
        rank_(rank),
        ranks_(ranks) {}

  template <class T>
  Emitted emit(const T& item, Rank to, Priority priority = Priority::normal) noexcept {
    const Emitted status = try_emit(item, to, priority);
    if (status != Emitted::ok) [[unlikely]]
      port_->refuse(status, kKind<T>, to);
    return status;
  }
  template <class Head, class Element>
  Emitted emit(const Head& head, std::span<const Element> tail, Rank to,
               Priority priority = Priority::normal) noexcept {
    const Emitted status = try_emit(head, tail, to, priority);
    if (status != Emitted::ok) [[unlikely]]
      port_->refuse(status, kKind<Head>, to);
    return status;
  }

  template <class T>
  [[nodiscard]] Emitted try_emit(const T& item, Rank to,
                                 Priority priority = Priority::normal) noexcept {
    static_assert(Traits<T>::kForm != detail::ItemForm::tailed,
                  "godwit: this item has a tail: emit(head, tail, rank)");
    if (static_cast<std::uint32_t>(to) >= static_cast<std::uint32_t>(ranks_)) [[unlikely]] {
      return Emitted::bad_rank;
    }
    const std::size_t slot = slot_of(kKind<T>, priority, to);
    detail::Cursor& cursor = cursors_[slot];
    if (cursor.end - cursor.at < static_cast<std::ptrdiff_t>(sizeof(T))) [[unlikely]] {
      const Emitted status = port_->refill(worker_, slot, sizeof(T));
      if (status != Emitted::ok) return status;
    }
    // Not memcpy: as an assignment the compiler builds the item in its place, field by field.
    ::new (static_cast<void*>(cursor.at)) T(item);
    cursor.at += sizeof(T);
    return Emitted::ok;
  }
  template <class Head, class Element>
  [[nodiscard]] Emitted try_emit(const Head& head, std::span<const Element> tail, Rank to,
                                 Priority priority = Priority::normal) noexcept {
    using Record = Traits<Head>;
    static_assert(Record::kForm == detail::ItemForm::tailed,
                  "godwit: this item has no tail: emit(item, rank)");
    static_assert(std::is_same_v<Element, typename Record::Tail>,
                  "godwit: the tail's elements are of another type than Tailed says");
    if (static_cast<std::uint32_t>(to) >= static_cast<std::uint32_t>(ranks_)) [[unlikely]] {
      return Emitted::bad_rank;
    }
    if (tail.size() > kMaxTailBytes / sizeof(Element)) [[unlikely]]
      return Emitted::too_large;
    const std::size_t bytes = Record::record_bytes(tail.size());
    const std::size_t slot = slot_of(kKind<Head>, priority, to);
    detail::Cursor& cursor = cursors_[slot];
    if (cursor.end - cursor.at < static_cast<std::ptrdiff_t>(bytes)) [[unlikely]] {
      const Emitted status = port_->refill(worker_, slot, bytes);
      if (status != Emitted::ok) return status;
    }
    const detail::TailMark mark{.elements = static_cast<std::uint32_t>(tail.size()),
                                .bytes = static_cast<std::uint32_t>(bytes)};
    std::memcpy(cursor.at, &mark, sizeof mark);
    std::memcpy(cursor.at + Record::kHeadAt, &head, sizeof head);
    if (!tail.empty()) {
      std::memcpy(cursor.at + Record::kTailAt, tail.data(), tail.size() * sizeof(Element));
    }
    cursor.at += bytes;
    ++cursor.chunk->count;
    return Emitted::ok;
  }

  [[nodiscard]] Rank rank() const noexcept { return rank_; }
  [[nodiscard]] Rank ranks() const noexcept { return ranks_; }

  static constexpr std::size_t kMaxTailBytes = std::size_t{64} << 20;

 private:
  template <class T>
  static constexpr std::uint32_t kKind = [] {
    constexpr std::uint32_t kind = detail::kind_of<T, Items...>();
    static_assert(kind < sizeof...(Items), "godwit: no such item type in this Exchange");
    return kind;
  }();
  template <class T>
  using Traits = detail::TraitsOf<kKind<T>, Items...>;

  [[nodiscard]] std::size_t slot_of(std::uint32_t kind, Priority priority, Rank to) const noexcept {
    return (std::size_t{kind} * kPriorities + static_cast<std::size_t>(priority)) *
               static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(to);
  }

  detail::Port* port_;
  detail::Cursor* cursors_;
  std::size_t worker_;
  Rank rank_;
  Rank ranks_;
};

}  // namespace godwit
