#include "godwit/block_map.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "base/fail.hpp"

namespace godwit {
namespace {

using Holders = std::vector<std::vector<Rank>>;

Holders spread_out(const BlockMap& map) {
  Holders holders;
  for (std::uint32_t block = 0; block < map.blocks(); ++block) {
    holders.emplace_back(map.holders(block).begin(), map.holders(block).end());
  }
  return holders;
}

Status apply_one(Holders& holders, Rank ranks, const BlockMove& move) {
  if (move.block >= holders.size() || move.to < 0 || move.to >= ranks) {
    return fail(ErrorCode::invalid_argument, "there is no block {} or no rank {}", move.block,
                move.to);
  }
  std::vector<Rank>& of_block = holders[move.block];
  const auto from = std::find(of_block.begin(), of_block.end(), move.from);
  if (from == of_block.end()) {
    return fail(ErrorCode::invalid_argument, "rank {} does not hold block {}", move.from,
                move.block);
  }
  if (std::find(of_block.begin(), of_block.end(), move.to) != of_block.end()) {
    return fail(ErrorCode::invalid_argument, "rank {} holds block {} already", move.to, move.block);
  }
  if (!move.keeps) of_block.erase(from);
  of_block.insert(std::upper_bound(of_block.begin(), of_block.end(), move.to), move.to);
  return {};
}

// Keeps account of the ranks' loads while blocks move, one after another: level() from the rank
// with the most load to the one with the least, follow() to those who want them.
class Planner {
 public:
  Planner(Holders holders, Rank ranks, std::span<const std::uint64_t> loads,
          const PlanOptions& options)
      : holders_(std::move(holders)),
        loads_(loads),
        options_(options),
        of_rank_(static_cast<std::size_t>(ranks)) {
    for (std::size_t block = 0; block < holders_.size(); ++block) {
      for (const Rank rank : holders_[block]) load_of(rank) += share_of(block);
    }
    mean_ = std::accumulate(of_rank_.begin(), of_rank_.end(), 0.0) / static_cast<double>(ranks);
  }

  std::vector<BlockMove> level() {
    std::vector<BlockMove> moves;
    while (moves.size() < options_.max_moves) {
      const auto most = std::max_element(of_rank_.begin(), of_rank_.end());
      const auto least = std::min_element(of_rank_.begin(), of_rank_.end());
      if (*most <= mean_ * options_.tolerance) break;
      const auto move = best(static_cast<Rank>(most - of_rank_.begin()),
                             static_cast<Rank>(least - of_rank_.begin()));
      if (!move) break;
      perform(*move);
      moves.push_back(*move);
    }
    return moves;
  }

  // A block of one holder, and how many items less travel if it goes to another.
  struct Pull {
    BlockMove move;
    std::uint64_t saves = 0;
  };
  // The best first; blocks may well change places. Then those go back, the worst first, that bring
  // a rank more than it may have.
  std::vector<BlockMove> follow(std::vector<Pull> pulls) {
    std::stable_sort(pulls.begin(), pulls.end(),
                     [](const Pull& a, const Pull& b) { return a.saves > b.saves; });
    pulls.resize(std::min(pulls.size(), options_.max_moves));
    std::vector<double> most(of_rank_);
    for (double& one : most) one = std::max(one, mean_ * options_.tolerance);
    for (const Pull& pull : pulls) perform(pull.move);
    const auto is_too_much = [&](const Pull& pull) {
      return load_of(pull.move.to) > most[static_cast<std::size_t>(pull.move.to)];
    };
    for (;;) {
      const auto worst = std::find_if(pulls.rbegin(), pulls.rend(), is_too_much);
      if (worst == pulls.rend()) break;
      const BlockMove& move = worst->move;
      perform({.block = move.block, .from = move.to, .to = move.from});
      pulls.erase(std::next(worst).base());
    }
    std::vector<BlockMove> moves;
    for (const Pull& pull : pulls) moves.push_back(pull.move);
    return moves;
  }

 private:
  [[nodiscard]] double& load_of(Rank rank) { return of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] double share_of(std::size_t block) const {
    return static_cast<double>(loads_[block]) / static_cast<double>(holders_[block].size());
  }
  [[nodiscard]] bool is_held(std::size_t block, Rank rank) const {
    return std::binary_search(holders_[block].begin(), holders_[block].end(), rank);
  }

  // What lowers the higher of the two loads most; nothing if nothing lowers it.
  [[nodiscard]] std::optional<BlockMove> best(Rank most, Rank least) {
    std::optional<BlockMove> chosen;
    double lowest = load_of(most);
    for (std::size_t block = 0; block < holders_.size(); ++block) {
      if (loads_[block] == 0 || !is_held(block, most) || is_held(block, least)) continue;
      const double share = share_of(block);
      const double moved = std::max(load_of(most) - share, load_of(least) + share);
      const auto number = static_cast<std::uint32_t>(block);
      if (moved < lowest) {
        lowest = moved;
        chosen = BlockMove{.block = number, .from = most, .to = least};
      }
      if (!options_.replicates || static_cast<double>(loads_[block]) <= mean_) continue;
      const double split =
          static_cast<double>(loads_[block]) / static_cast<double>(holders_[block].size() + 1);
      const double copied = std::max(load_of(most) - share + split, load_of(least) + split);
      if (copied < lowest) {
        lowest = copied;
        chosen = BlockMove{.block = number, .from = most, .to = least, .keeps = true};
      }
    }
    return chosen;
  }

  void perform(const BlockMove& move) {
    for (const Rank rank : holders_[move.block]) load_of(rank) -= share_of(move.block);
    (void)apply_one(holders_, static_cast<Rank>(of_rank_.size()), move);
    for (const Rank rank : holders_[move.block]) load_of(rank) += share_of(move.block);
  }

  Holders holders_;
  std::span<const std::uint64_t> loads_;
  const PlanOptions& options_;
  std::vector<double> of_rank_;
  double mean_ = 0;
};

}  // namespace

Result<BlockMap> BlockMap::shares(std::uint32_t blocks, Rank ranks) {
  std::vector<Rank> owners(blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    owners[block] =
        static_cast<Rank>(std::uint64_t{block} * static_cast<std::uint64_t>(ranks) / blocks);
  }
  return of(owners, ranks);
}

Result<BlockMap> BlockMap::of(std::span<const Rank> owners, Rank ranks) {
  if (owners.empty() || ranks < 1 || ranks > Group::kMaxRanks) {
    return fail(ErrorCode::invalid_argument,
                "a map has at least one block, not {}, and 1 to {} ranks, not {}", owners.size(),
                Group::kMaxRanks, ranks);
  }
  for (const Rank owner : owners) {
    if (owner >= 0 && owner < ranks) continue;
    return fail(ErrorCode::invalid_argument, "a block is given to rank {}; there are ranks 0 to {}",
                owner, ranks - 1);
  }
  std::vector<std::uint32_t> begins(owners.size() + 1);
  std::iota(begins.begin(), begins.end(), 0U);
  return BlockMap(ranks, std::move(begins), {owners.begin(), owners.end()});
}

std::uint32_t BlockMap::blocks() const noexcept {
  return static_cast<std::uint32_t>(begins_.size() - 1);
}

std::span<const Rank> BlockMap::holders(std::uint32_t block) const noexcept {
  return std::span(holders_).subspan(begins_[block], begins_[block + 1] - begins_[block]);
}

bool BlockMap::holds(Rank rank, std::uint32_t block) const noexcept {
  const auto all = holders(block);
  return std::binary_search(all.begin(), all.end(), rank);
}

BlockView BlockMap::view() const noexcept {
  return {.begins = begins_.data(), .holders = holders_.data(), .blocks = blocks()};
}

Result<std::vector<BlockMove>> BlockMap::plan(std::span<const std::uint64_t> loads,
                                              const PlanOptions& options) const {
  if (loads.size() != blocks()) {
    return fail(ErrorCode::invalid_argument, "{} loads were given for {} blocks", loads.size(),
                blocks());
  }
  return Planner(spread_out(*this), ranks_, loads, options).level();
}

Result<std::vector<BlockMove>> BlockMap::plan_towards(std::span<const std::uint64_t> wanted,
                                                      const PlanOptions& options) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  if (wanted.size() != ranks * blocks()) {
    return fail(ErrorCode::invalid_argument, "{} counts were given for {} blocks on {} ranks",
                wanted.size(), blocks(), ranks);
  }
  std::vector<std::uint64_t> loads(blocks());
  std::vector<Planner::Pull> pulls;
  for (std::uint32_t block = 0; block < blocks(); ++block) {
    const auto wanted_by = [&](Rank rank) {
      return wanted[static_cast<std::size_t>(rank) * blocks() + block];
    };
    Rank most = 0;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      loads[block] += wanted_by(rank);
      if (wanted_by(rank) > wanted_by(most)) most = rank;
    }
    const Rank holder = holders(block).front();
    if (holders(block).size() > 1 || wanted_by(most) <= wanted_by(holder)) continue;
    pulls.push_back({.move = {.block = block, .from = holder, .to = most},
                     .saves = wanted_by(most) - wanted_by(holder)});
  }
  return Planner(spread_out(*this), ranks_, loads, options).follow(std::move(pulls));
}

Status BlockMap::apply(std::span<const BlockMove> moves) {
  Holders holders = spread_out(*this);
  for (const BlockMove& move : moves) GODWIT_CHECK(apply_one(holders, ranks_, move));
  begins_.assign(1, 0);
  holders_.clear();
  for (const std::vector<Rank>& of_block : holders) {
    holders_.insert(holders_.end(), of_block.begin(), of_block.end());
    begins_.push_back(static_cast<std::uint32_t>(holders_.size()));
  }
  return {};
}

}  // namespace godwit
