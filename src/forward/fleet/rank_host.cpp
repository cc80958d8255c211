#include "forward/fleet/rank_host.hpp"

#include <unistd.h>

#include <bit>
#include <new>
#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "forward/fleet/mobile_kernel.hpp"
#include "forward/fleet/watched_group.hpp"
#include "forward/process/place.hpp"
#include "forward/process/process_member.hpp"
#include "godwit/detail/forward/port.hpp"
#include "godwit/group.hpp"

namespace godwit::forward {
namespace {

Result<detail::ItemType> item_of(const godwit_rank_v1& rank) {
  const std::string_view name{rank.item_type, rank.item_type_size};
  if (rank.item_size < 1 || rank.item_size > detail::kMaxItemBytes || name.empty() ||
      !std::has_single_bit(rank.item_align) || rank.item_align > detail::kMaxItemAlign ||
      rank.item_size % rank.item_align != 0) {
    return fail(ErrorCode::invalid_argument,
                "items of {} bytes, aligned to {}, cannot be exchanged", rank.item_size,
                rank.item_align);
  }
  return detail::ItemType{.name = name, .size = rank.item_size, .align = rank.item_align};
}

// One of as many as there may be.
class OpenRank {
 public:
  OpenRank(std::atomic<std::size_t>& open, std::size_t limit) : open_(open) {
    taken_ = open_.fetch_add(1, std::memory_order_relaxed) < limit;
  }
  OpenRank(const OpenRank&) = delete;
  OpenRank& operator=(const OpenRank&) = delete;
  ~OpenRank() { open_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] bool is_taken() const { return taken_; }

 private:
  std::atomic<std::size_t>& open_;
  bool taken_;
};

}  // namespace

std::string RankHost::key_of(const std::array<std::uint64_t, 2>& exchange) const {
  if (!options_.key) return {};
  return options_.key
      ->derive(fmt::format("godwit ranks 1: {}{}", to_hex(exchange[0]), to_hex(exchange[1])))
      .hex();
}

Status RankHost::run(godwit_rank_v1& rank, const Interrupted& interrupted) {
  const OpenRank open(open_, options_.max_ranks);
  if (!open.is_taken()) {
    return fail(ErrorCode::overload, "node {} is {} ranks of exchanges already, its limit",
                options_.name, options_.max_ranks);
  }
  try {
    return be_rank(rank, interrupted);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_memory, "node {} has no memory for a rank", options_.name);
  } catch (const std::exception& error) {
    return fail(ErrorCode::internal, "a rank on node {} failed: {}", options_.name, error.what());
  }
}

Status RankHost::be_rank(godwit_rank_v1& rank, const Interrupted& interrupted) const {
  GODWIT_TRY(RankPlan plan,
             read_order({static_cast<const std::byte*>(rank.order), rank.order_size}));
  if (plan.meet.rank == plan.meet.ranks - 1) {
    return fail(ErrorCode::invalid_argument, "rank {} is the program's own", plan.meet.rank);
  }
  GODWIT_TRY(const detail::ItemType type, item_of(rank));
  plan.meet.key = key_of(plan.exchange);
  auto member = ProcessMember::meet(plan.meet, interrupted);
  forget_folder(plan.meet.address, plan.meet.ranks - 1);
  if (!member) return tl::unexpected(std::move(member).error());
  Group group(watched(*std::move(member), interrupted));
  GODWIT_TRY(const auto port, detail::Port::create(group, {&type, 1}, plan.options));
  MobileKernel kernel(*port, rank, {.rank = group.rank(), .ranks = group.ranks()}, plan.options,
                      options_.name);
  const auto report =
      port->run([&](const Chunk& chunk, std::size_t worker) { kernel.process(chunk, worker); },
                {.pace = plan.pace});
  rank.emitted = port->status().emitted;
  if (!report) return tl::unexpected(report.error());
  rank.processed = report->processed;
  rank.rounds = report->rounds;
  return {};
}

}  // namespace godwit::forward
