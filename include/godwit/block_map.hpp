// BlockMap: which ranks hold which block of a domain, where items go that need a block, and how
// blocks follow the load.
//
//   auto map = godwit::BlockMap::shares(blocks, group.ranks()).value();
//   ...kernel: out.emit(particle, map.route(block_of(particle), out.rank()));
//   const auto loads = godwit::sum_over_ranks(group, items_per_block).value();
//   const auto moves = map.plan(loads).value();                    // the same on every rank;
//                                                                  // or map.plan_towards(wanted)
//   godwit::move_blocks(group, map, moves, pack, unpack).value();  // data follows, and the map
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/group.hpp"
#include "godwit/kernel.hpp"

namespace godwit {

// What a kernel needs of a map: plain pointers, for the GPU too. Valid while the map is unchanged.
struct BlockView {
  const std::uint32_t* begins = nullptr;  // of each block's holders in `holders`, and one more
  const Rank* holders = nullptr;
  std::uint32_t blocks = 0;

  // The rank to which an item goes that needs a block below `blocks`: the one it is on if that
  // holds the block, so that the item stays there at no cost; else a holder, another one for
  // another salt.
  [[nodiscard]] GODWIT_KERNEL Rank route(std::uint32_t block, Rank here,
                                         std::uint32_t salt = 0) const {
    const std::uint32_t begin = begins[block];
    const std::uint32_t count = begins[block + 1] - begin;
    if (count == 1) return holders[begin];
    for (std::uint32_t i = 0; i < count; ++i) {
      if (holders[begin + i] == here) return here;
    }
    return holders[begin + (salt + static_cast<std::uint32_t>(here)) % count];
  }
};

// A block gets another holder, and loses one unless `from` keeps its copy.
struct BlockMove {
  std::uint32_t block = 0;
  Rank from = 0;
  Rank to = 0;
  bool keeps = false;
  friend bool operator==(const BlockMove&, const BlockMove&) = default;
};

struct PlanOptions {
  // A rank may have so many times the mean load.
  double tolerance = 1.1;
  std::size_t max_moves = 64;
  // A block that alone exceeds a rank's share is copied to further ranks rather than moved.
  bool replicates = true;
};

// A value: every rank has its own, and they are the same as long as all apply the same moves.
class GODWIT_API BlockMap {
 public:
  // Neighbouring blocks in equal shares. invalid_argument: no blocks, or ranks not 1 to
  // Group::kMaxRanks.
  [[nodiscard]] static Result<BlockMap> shares(std::uint32_t blocks, Rank ranks);
  // Block i is held by owners[i]. invalid_argument: an owner that is no rank.
  [[nodiscard]] static Result<BlockMap> of(std::span<const Rank> owners, Rank ranks);

  [[nodiscard]] std::uint32_t blocks() const noexcept;
  [[nodiscard]] Rank ranks() const noexcept { return ranks_; }
  // One or more, in ascending order.
  [[nodiscard]] std::span<const Rank> holders(std::uint32_t block) const noexcept;
  [[nodiscard]] bool holds(Rank rank, std::uint32_t block) const noexcept;
  [[nodiscard]] Rank route(std::uint32_t block, Rank here, std::uint32_t salt = 0) const noexcept {
    return view().route(block, here, salt);
  }
  [[nodiscard]] BlockView view() const noexcept;

  // What to change so that ranks have about equal loads, where loads[i] is that of block i and its
  // holders share it. Depends on nothing but its arguments: all ranks come to the same plan.
  // invalid_argument: not one load per block.
  [[nodiscard]] Result<std::vector<BlockMove>> plan(std::span<const std::uint64_t> loads,
                                                    const PlanOptions& options = {}) const;
  // What to change so that fewer items travel, where wanted[rank * blocks() + block] counts the
  // items on that rank that need that block. A block with one holder goes to the rank that wants it
  // most, those first that save most, as far as no rank gets more than its tolerance by it.
  // Depends on nothing but its arguments.
  // invalid_argument: not one count per rank and block.
  [[nodiscard]] Result<std::vector<BlockMove>> plan_towards(std::span<const std::uint64_t> wanted,
                                                            const PlanOptions& options = {}) const;
  // invalid_argument: `from` does not hold the block, or `to` does already; nothing was changed.
  [[nodiscard]] Status apply(std::span<const BlockMove> moves);

  friend bool operator==(const BlockMap&, const BlockMap&) = default;

 private:
  BlockMap(Rank ranks, std::vector<std::uint32_t> begins, std::vector<Rank> holders)
      : ranks_(ranks), begins_(std::move(begins)), holders_(std::move(holders)) {}

  Rank ranks_ = 1;
  std::vector<std::uint32_t> begins_;
  std::vector<Rank> holders_;
};

// The sums over all ranks of the values at each place. All ranks call it, with as many values
// (else type_mismatch).
[[nodiscard]] GODWIT_API Result<std::vector<std::uint64_t>> sum_over_ranks(
    Group& group, std::span<const std::uint64_t> values);

// Moves the blocks' data, then applies the moves to the map. All ranks call it, with the same
// moves. pack(block) is called on a block's first holder, and what it returns must stay until the
// call returns; unpack(block, bytes) on ranks that get it. After an error the map is unchanged.
[[nodiscard]] GODWIT_API Status move_blocks(
    Group& group, BlockMap& map, std::span<const BlockMove> moves,
    const std::function<std::span<const std::byte>(std::uint32_t block)>& pack,
    const std::function<void(std::uint32_t block, std::span<const std::byte> bytes)>& unpack);

}  // namespace godwit
