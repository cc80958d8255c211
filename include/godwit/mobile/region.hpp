// Regions as mobile code sees them: memory of the node it runs on, and who has the rest.
//
//   auto list = here.region<std::uint64_t>("list");
//   while (hops > 0 && list.owns(at)) { at = list[at]; --hops; }
//   return here.continue_at<chase>(list.owner(at), at, hops);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "godwit/mobile/call.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/sharding.hpp"
#include "godwit/types.hpp"

namespace godwit {

namespace detail {

template <std::size_t Size>
struct WordOf {};
template <>
struct WordOf<1> {
  using type [[gnu::may_alias]] = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type [[gnu::may_alias]] = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type [[gnu::may_alias]] = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type [[gnu::may_alias]] = std::uint64_t;
};
template <class T>
inline constexpr bool kOneWord =
    sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

// One element out of memory that others may be writing to. `from` is a multiple of sizeof(T) from
// the beginning of a page, so that a word never lies across two cache lines.
template <int Order = __ATOMIC_RELAXED, class T>
[[nodiscard]] inline T load_element(const T* from) noexcept {
  T value;
  if constexpr (kOneWord<T>) {
    using Word = typename WordOf<sizeof(T)>::type;
    const Word word = __atomic_load_n(reinterpret_cast<const Word*>(from), Order);
    std::memcpy(&value, &word, sizeof value);
  } else {
    std::memcpy(&value, from, sizeof value);
    if constexpr (Order != __ATOMIC_RELAXED) std::atomic_thread_fence(std::memory_order_acquire);
  }
  return value;
}
template <class T>
inline void store_element(T* to, const T& value) noexcept {
  if constexpr (kOneWord<T>) {
    using Word = typename WordOf<sizeof(T)>::type;
    Word word;
    std::memcpy(&word, &value, sizeof word);
    __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELAXED);
  } else {
    std::memcpy(to, &value, sizeof value);
  }
}

}  // namespace detail

// One region to be read, valid until the exported function returns. Copies are cheap; any thread of
// the call.
//
// Elements of 1, 2, 4 or 8 bytes are loaded and stored whole: a reader never sees half of one.
// Larger ones may be torn by a writer at the same time. Nothing else is ordered: use load_acquire()
// and WritableRegion::atomic() where one element guards others.
template <class T>
class RegionView {
  static_assert(kPlain<T>, "godwit: the elements of a region are plain types (docs/types.md)");

 public:
  explicit RegionView(const godwit_region_v1& region) noexcept
      : map_(region.map, region.placement),
        one_run_(map_.has_one_run()),
        first_(region.map.chunk * region.shard),
        region_(region) {}

  [[nodiscard]] std::uint64_t id() const noexcept { return region_.id; }
  // Empty on nodes older than the name.
  [[nodiscard]] std::string_view name() const noexcept { return {region_.name, region_.name_size}; }
  // Elements of the whole region.
  [[nodiscard]] std::uint64_t size() const noexcept { return region_.elements; }
  [[nodiscard]] const ShardMap& map() const noexcept { return map_; }

  // True if the element exists and lies on this node.
  [[nodiscard]] bool owns(std::uint64_t index) const noexcept {
    // Without a shard data_elements is 0, whatever first_ is.
    if (one_run_) return index - first_ < region_.data_elements;
    if (index >= region_.elements || region_.data == nullptr) return false;
    const ShardPlace place = map_.locate(index);
    return place.shard == region_.shard && place.offset < region_.data_elements;
  }
  // The node that has it; none if the index is out of range or the shard was lost.
  [[nodiscard]] Node owner(std::uint64_t index) const noexcept {
    return index < region_.elements ? Node{region_.nodes[map_.locate(index).shard]} : Node{};
  }
  // The node that has a shard; none if it was lost, or there is no such shard.
  [[nodiscard]] Node home(std::uint32_t shard) const noexcept {
    return shard < map_.shards() ? Node{region_.nodes[shard]} : Node{};
  }
  // This node's own, or GODWIT_NO_SHARD.
  [[nodiscard]] std::uint32_t shard() const noexcept { return region_.shard; }
  // One element; this node must own it.
  [[nodiscard]] T operator[](std::uint64_t index) const noexcept {
    return detail::load_element(at(index));
  }
  // The same; what was written before the element was stored with release order is visible then.
  [[nodiscard]] T load_acquire(std::uint64_t index) const noexcept {
    return detail::load_element<__ATOMIC_ACQUIRE>(at(index));
  }

  // This node's shard as plain memory, in the order of offsets; empty without one.
  [[nodiscard]] std::span<const T> local() const noexcept {
    return {static_cast<const T*>(region_.data), region_.data_elements};
  }
  // The index of local()[offset].
  [[nodiscard]] std::uint64_t index_of(std::uint64_t offset) const noexcept {
    return map_.index_at({region_.shard, offset});
  }

 protected:
  [[nodiscard]] T* at(std::uint64_t index) const noexcept {
    const std::uint64_t offset = one_run_ ? index - first_ : map_.locate(index).offset;
    return static_cast<T*>(region_.data) + offset;
  }
  [[nodiscard]] const godwit_region_v1& abi() const noexcept { return region_; }

 private:
  ShardMap map_;
  bool one_run_;
  std::uint64_t first_;  // with one run: the index at offset 0
  godwit_region_v1 region_;
};

// One region to be read and written.
template <class T>
class WritableRegion : public RegionView<T> {
 public:
  using RegionView<T>::RegionView;

  // One element; this node must own it.
  void put(std::uint64_t index, const T& value) const noexcept {
    detail::store_element(this->at(index), value);
  }
  [[nodiscard]] std::atomic_ref<T> atomic(std::uint64_t index) const noexcept {
    return std::atomic_ref<T>(*this->at(index));
  }
  [[nodiscard]] std::span<T> local() const noexcept {
    return {static_cast<T*>(this->abi().data), this->abi().data_elements};
  }
};

}  // namespace godwit
