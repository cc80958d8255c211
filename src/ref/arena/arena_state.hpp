// What an Arena is made of. Segments lie on lists that say what is free in them.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/list.hpp"
#include "fabric/memory/segment.hpp"
#include "ref/arena/arena.hpp"
#include "ref/arena/arena_segment.hpp"
#include "ref/arena/size_class.hpp"

namespace godwit::ref {

struct Arena::State {
  static constexpr SizeClasses kShared{.unit = 64, .log2_steps = 2};
  static constexpr std::size_t kSharedClasses = kShared.index_of(kLargestShared) + 1;
  static constexpr SizeClasses kOwn{.unit = fabric::kPageSize, .log2_steps = 3};
  static constexpr std::size_t kLargestOwn = fabric::Segment::kMaxCapacityBytes;
  static constexpr std::size_t kOwnClasses = kOwn.index_of(kLargestOwn) + 1;
  // What one size class takes at a time: as large as a huge page, and little enough that every
  // class may have some.
  static constexpr std::size_t kLargestChunk = Slots::kMost * kShared.unit;
  // All classes have chunks of one size, whose last bytes may not make a slot: with so many slots,
  // little is lost.
  static constexpr std::size_t kSlotsInChunk = 4;
  static_assert(kLargestChunk == kSlotsInChunk * kLargestShared);

  explicit State(Options wanted);

  using Segments = std::vector<std::unique_ptr<ArenaSegment>>;

  // --- With the lock held ---
  std::optional<Extent> take_slot(std::size_t size_class);
  bool find_chunk(std::size_t size_class);
  bool assign_chunk(std::size_t size_class);
  void release_chunk(Chunk& chunk);
  void release_idle_chunks();
  std::optional<Extent> take_own(std::size_t bytes);
  void put_slot(ArenaSegment& segment, const Extent& extent);
  void keep(ArenaSegment& segment);
  void unkeep(ArenaSegment& segment);
  IntrusiveList<ArenaSegment, FitTag>& alike(const ArenaSegment& segment);
  std::unique_ptr<ArenaSegment> take_out_oldest();
  Segments take_out_kept(std::size_t keep_bytes);
  Extent use_of(ArenaSegment& segment, std::size_t offset, std::size_t capacity);
  void has_left(std::size_t bytes);
  Status check_budget(std::size_t bytes, std::size_t wanted) const;

  // --- Without ---
  void give_back(Segments taken);
  struct Sizes {
    std::size_t least = 0, best = 0;
  };
  Result<ArenaSegment*> make(Sizes sizes, std::size_t its_chunk_bytes, std::size_t wanted);
  Result<std::size_t> make_room(Sizes sizes, std::size_t wanted);
  Result<Extent> allocate_shared(std::size_t bytes, Wait wait);
  Result<Extent> allocate_own(std::size_t bytes, Wait wait);

  const Options options;
  const std::size_t chunk_bytes;
  const std::size_t largest_shared;

  std::mutex making_slab;  // taken before the other: who waits for a slab may find room in it
  mutable std::mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<ArenaSegment>> segments;
  // Begins anywhere: a peer that has mapped a segment of this node's last life must not take it for
  // one of this life.
  std::uint64_t last_id = random_node_id().value >> 1;
  Use use;
  std::size_t slab_bytes = 0;  // of all slabs

  std::array<IntrusiveList<Chunk, RoomyTag>, kSharedClasses> roomy;
  IntrusiveList<ArenaSegment, PartlyTag> partly;  // slabs in use with free chunks
  // Empty segments: all, the longest unused first, and those that are alike, the last used last.
  IntrusiveList<ArenaSegment, AgeTag> kept;
  IntrusiveList<ArenaSegment, FitTag> kept_slabs;
  std::array<IntrusiveList<ArenaSegment, FitTag>, kOwnClasses> kept_own;
  std::size_t kept_bytes = 0;
  // Of what is on its way back to the system, and held until it is there.
  std::size_t leaving_bytes = 0;
  std::condition_variable left;
};

}  // namespace godwit::ref
