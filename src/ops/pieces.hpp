// Elements of a region sorted by the shard they lie on: what each home is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "godwit/sharding.hpp"

namespace godwit::ops {

// Elements of one shard. Their home numbers them by offset, whoever asked by position: the first
// element asked for has position 0.
struct Piece {
  std::uint32_t shard = 0;
  // One after another from here on, or those listed.
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> offsets{};    // empty: a range
  std::vector<std::uint64_t> positions{};  // of the listed ones
  std::uint64_t first = 0;                 // of a range: the index at position 0

  [[nodiscard]] bool is_list() const noexcept { return !offsets.empty(); }
};

// Every index is below the map's capacity. A piece per shard that has something of it, in order of
// the shards. O(shards) for a range, unless the map is hashed, and O(count) otherwise.
[[nodiscard]] std::vector<Piece> split_range(const ShardMap& map, std::uint64_t first,
                                             std::uint64_t count);
[[nodiscard]] std::vector<Piece> split_list(const ShardMap& map,
                                            std::span<const std::uint64_t> indices);

// Calls visit(place, position, count) for each run of the piece whose elements stand side by side
// at the home and at the asker's; `place` counts within the piece.
template <class Visit>
void for_each_run(const ShardMap& map, const Piece& piece, Visit&& visit) {
  if (piece.is_list()) {
    for (std::uint64_t i = 0; i < piece.count; ++i) {
      visit(i, piece.positions[i], std::uint64_t{1});
    }
    return;
  }
  const std::uint64_t chunk = map.abi().chunk;
  for (std::uint64_t done = 0; done < piece.count;) {
    const std::uint64_t offset = piece.offset + done;
    const std::uint64_t run = std::min(chunk - offset % chunk, piece.count - done);
    visit(done, map.index_at({piece.shard, offset}) - piece.first, run);
    done += run;
  }
}

}  // namespace godwit::ops
