// Regions as mobile code sees them: memory of the node it runs on, and who has the rest.
//
//   auto list = here.region<std::uint64_t>("list");
//   while (hops > 0 && list.owns(at)) { at = list[at]; --hops; }
//   return here.continue_at<chase>(list.owner(at), at, hops);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "godwit/mobile/call.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/sharding.hpp"
#include "godwit/types.hpp"

namespace godwit {

// One region, valid until the exported function returns. Copies are cheap; any thread of the call.
//
// Elements of 1, 2, 4 or 8 bytes are loaded and stored whole: a reader never sees half of one.
// Larger ones may be torn by a writer at the same time. Nothing else is ordered: use atomic() where
// one element guards another.
template <class T>
class RegionView {
  static_assert(kPlain<T>, "godwit: the elements of a region are plain types (docs/types.md)");

 public:
  explicit RegionView(const godwit_region_v1& region) noexcept
      : map_(region.map), region_(region) {}

  [[nodiscard]] std::uint64_t id() const noexcept { return region_.id; }
  // Elements of the whole region.
  [[nodiscard]] std::uint64_t size() const noexcept { return region_.elements; }
  [[nodiscard]] const ShardMap& map() const noexcept { return map_; }

  // True if the element exists and lies on this node.
  [[nodiscard]] bool owns(std::uint64_t index) const noexcept {
    return index < region_.elements && region_.data != nullptr &&
           map_.locate(index).shard == region_.shard;
  }
  // The node that has it; none if the index is out of range or the shard was lost.
  [[nodiscard]] Node owner(std::uint64_t index) const noexcept {
    return index < region_.elements ? Node{region_.nodes[map_.locate(index).shard]} : Node{};
  }
  // One element; this node must own it.
  [[nodiscard]] T operator[](std::uint64_t index) const noexcept { return load(at(index)); }
  void put(std::uint64_t index, const T& value) const noexcept { store(at(index), value); }
  [[nodiscard]] std::atomic_ref<T> atomic(std::uint64_t index) const noexcept {
    return std::atomic_ref<T>(at(index));
  }

  // This node's shard as plain memory, in the order of offsets; empty without one.
  [[nodiscard]] std::span<T> local() const noexcept {
    return {static_cast<T*>(region_.data), region_.data_elements};
  }
  // The index of local()[offset].
  [[nodiscard]] std::uint64_t index_of(std::uint64_t offset) const noexcept {
    return map_.index_at({region_.shard, offset});
  }

 private:
  [[nodiscard]] T& at(std::uint64_t index) const noexcept {
    return static_cast<T*>(region_.data)[map_.locate(index).offset];
  }
  [[nodiscard]] static T load(T& from) noexcept;
  static void store(T& to, const T& value) noexcept;

  ShardMap map_;
  godwit_region_v1 region_;
};

}  // namespace godwit
