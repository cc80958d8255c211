// What the mobile functions of ops share: this node's shard of a region as memory, all that a
// message claims about it checked.
#pragma once

#include <godwit/mobile.hpp>
#include <godwit/mobile/refuse.hpp>
#include <godwit/mobile/region.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace godwit::ops {

// Where a message says its elements lie.
struct ShardRef {
  std::uint64_t region = 0;
  std::uint32_t shard = 0;
};

// Valid until the exported function returns.
class LocalShard {
 public:
  LocalShard(Here& here, ShardRef wanted, std::uint32_t rights) {
    view_.size = sizeof view_;
    const godwit_here_v1* table = here.table();
    const std::int32_t error = table->region(table, wanted.region, nullptr, 0, rights, &view_);
    if (error != 0) [[unlikely]]
      refuse(static_cast<std::uint32_t>(error), "%s", table->last_error(table));
    if (view_.data == nullptr || view_.shard != wanted.shard) [[unlikely]]
      refuse(kInvalidArgument, "this node does not have shard %u", wanted.shard);
  }

  [[nodiscard]] std::uint32_t element_size() const noexcept { return view_.element_size; }
  [[nodiscard]] bool is_word() const noexcept {
    return view_.element_size <= 8 && (view_.element_size & (view_.element_size - 1)) == 0;
  }
  [[nodiscard]] std::uint64_t elements() const noexcept { return view_.data_elements; }

  [[nodiscard]] std::uint32_t shards() const noexcept { return view_.map.shards; }
  // None if it was lost.
  [[nodiscard]] Node home(std::uint32_t shard) const noexcept { return {view_.nodes[shard]}; }
  [[nodiscard]] std::uint64_t index_of(std::uint64_t offset) const noexcept {
    return ShardMap(view_.map, view_.placement).index_at({view_.shard, offset});
  }

  // `count` elements from `offset` on.
  [[nodiscard]] std::byte* range(std::uint64_t offset, std::uint64_t count) const {
    if (count > view_.data_elements || offset > view_.data_elements - count) [[unlikely]]
      refuse(kInvalidArgument, "elements %llu to %llu of a shard that has %llu", as_printed(offset),
             as_printed(offset + count), as_printed(view_.data_elements));
    return static_cast<std::byte*>(view_.data) + offset * view_.element_size;
  }

  // Calls `f(word)` with a reference to the element as an unsigned integer of its size.
  template <class F>
  std::uint64_t with_word(std::uint64_t offset, F&& f) const {
    std::byte* const at = range(offset, 1);
    switch (view_.element_size) {
      case 1: return f(*reinterpret_cast<std::uint8_t*>(at));
      case 2: return f(*reinterpret_cast<std::uint16_t*>(at));
      case 4: return f(*reinterpret_cast<std::uint32_t*>(at));
      case 8: return f(*reinterpret_cast<std::uint64_t*>(at));
      default:
        refuse(kTypeMismatch, "an element of %u bytes is not one word of 1, 2, 4 or 8",
               view_.element_size);
    }
  }

 private:
  godwit_region_v1 view_{};
};

// Copies one element, whole if its size allows: whoever stores or loads it meanwhile does so before
// or after.
inline void copy_element(std::byte* to, const std::byte* from, std::uint32_t size) noexcept {
  const auto whole = [&]<class Word>(Word value) {
    __atomic_load(reinterpret_cast<const Word*>(from), &value, __ATOMIC_RELAXED);
    __atomic_store(reinterpret_cast<Word*>(to), &value, __ATOMIC_RELAXED);
  };
  switch (size) {
    case 1: return whole(std::uint8_t{});
    case 2: return whole(std::uint16_t{});
    case 4: return whole(std::uint32_t{});
    case 8: return whole(std::uint64_t{});
    default: std::memcpy(to, from, size);
  }
}

}  // namespace godwit::ops
