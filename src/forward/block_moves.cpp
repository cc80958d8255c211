// What ranks do together about blocks: add up loads, move data.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/fail.hpp"
#include "godwit/block_map.hpp"
#include "godwit/exchange.hpp"

namespace godwit {
namespace {

struct Values {
  std::uint64_t count = 0;   // of all
  std::uint64_t offset = 0;  // of those in the tail
};
constexpr std::size_t kPartValues = 8192;

// A part of a block's data.
struct BlockPart {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // of the whole
  std::uint32_t block = 0;
  std::uint32_t filling = 0;
};
constexpr std::size_t kPartBytes = std::size_t{4} << 20;

}  // namespace

Result<std::vector<std::uint64_t>> sum_over_ranks(Group& group,
                                                  std::span<const std::uint64_t> values) {
  using Sums = Exchange<Tailed<Values, std::uint64_t>>;
  GODWIT_TRY(Sums exchange, Sums::create(group));
  for (Rank rank = 0; rank < group.ranks(); ++rank) {
    for (std::size_t at = 0;; at += kPartValues) {
      const auto part = values.subspan(at, std::min(kPartValues, values.size() - at));
      exchange.emit(Values{.count = values.size(), .offset = at}, part, rank);
      if (at + part.size() == values.size()) break;
    }
  }
  GODWIT_TRY([[maybe_unused]] const Round round, exchange.advance());
  std::vector<std::uint64_t> sums(values.size());
  Status fits;
  exchange.process([&](const WithTail<Values, std::uint64_t>& theirs, auto&) {
    if (theirs.head.count != values.size()) {
      fits = fail(ErrorCode::type_mismatch, "ranks add up {} values and {}", values.size(),
                  theirs.head.count);
      return;
    }
    for (std::size_t i = 0; i < theirs.tail.size(); ++i) {
      sums[theirs.head.offset + i] += theirs.tail[i];
    }
  });
  GODWIT_CHECK(fits);
  return sums;
}

Status move_blocks(
    Group& group, BlockMap& map, std::span<const BlockMove> moves,
    const std::function<std::span<const std::byte>(std::uint32_t block)>& pack,
    const std::function<void(std::uint32_t block, std::span<const std::byte> bytes)>& unpack) {
  BlockMap changed = map;
  GODWIT_CHECK(changed.apply(moves));
  using Parts = Exchange<Tailed<BlockPart, std::byte>>;
  GODWIT_TRY(Parts exchange, Parts::create(group));
  std::set<std::uint32_t> blocks;
  for (const BlockMove& move : moves) blocks.insert(move.block);
  // A block may move on within one plan: only who has it before and after counts.
  for (const std::uint32_t block : blocks) {
    if (map.holders(block).front() != group.rank()) continue;
    for (const Rank to : changed.holders(block)) {
      if (map.holds(to, block)) continue;
      const std::span<const std::byte> bytes = pack(block);
      for (std::size_t at = 0;; at += kPartBytes) {
        const auto part = bytes.subspan(at, std::min(kPartBytes, bytes.size() - at));
        exchange.emit(BlockPart{.offset = at, .size = bytes.size(), .block = block}, part, to);
        if (at + part.size() == bytes.size()) break;
      }
    }
  }
  std::map<std::uint32_t, std::vector<std::byte>> arriving;
  std::map<std::uint32_t, std::size_t> left;
  GODWIT_TRY([[maybe_unused]] const RunReport report,
             exchange.run([&](const WithTail<BlockPart, std::byte>& part, auto&) {
               const BlockPart& head = part.head;
               auto [it, is_new] = arriving.try_emplace(head.block);
               if (is_new) {
                 it->second.resize(head.size);
                 left[head.block] = head.size;
               }
               std::copy(part.tail.begin(), part.tail.end(),
                         it->second.begin() + static_cast<std::ptrdiff_t>(head.offset));
               left[head.block] -= part.tail.size();
               if (left[head.block] > 0) return;
               unpack(head.block, it->second);
               arriving.erase(it);
             }));
  map = std::move(changed);
  return {};
}

}  // namespace godwit
