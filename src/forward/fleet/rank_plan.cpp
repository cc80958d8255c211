#include "forward/fleet/rank_plan.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/fail.hpp"
#include "godwit/group.hpp"

namespace godwit::forward {
namespace {

constexpr std::uint64_t kMaxQueueBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxSpillBytes = std::uint64_t{1} << 44;
constexpr std::uint32_t kMaxRankWorkers = 256;

// What both sides refuse, so that a program hears of it before anything is sent.
Status check(const RankOrder& order) {
  if (order.nodes < 1 || order.nodes >= Group::kMaxRanks) {
    return fail(ErrorCode::invalid_argument, "an exchange over a fleet has 1 to {} nodes, not {}",
                Group::kMaxRanks - 1, order.nodes);
  }
  if (order.rank < 0 || order.rank > order.nodes) {
    return fail(ErrorCode::invalid_argument, "rank {} of an exchange over {} nodes", order.rank,
                order.nodes);
  }
  if (order.queue_bytes > kMaxQueueBytes || order.spill_bytes > kMaxSpillBytes) {
    return fail(ErrorCode::invalid_argument,
                "a rank of a node has at most {} bytes of memory and {} in a file for items; asked "
                "for were {} and {}",
                kMaxQueueBytes, kMaxSpillBytes, order.queue_bytes, order.spill_bytes);
  }
  if (order.workers < 1 || order.workers > kMaxRankWorkers) {
    return fail(ErrorCode::invalid_argument, "a rank of a node has 1 to {} workers, not {}",
                kMaxRankWorkers, order.workers);
  }
  if (order.patience_ms == 0 || order.deterministic > 1 ||
      order.pace > static_cast<std::uint8_t>(Pace::free) ||
      order.way > static_cast<std::uint8_t>(Way::tcp) ||
      order.address_size > order.address.size()) {
    return fail(ErrorCode::invalid_argument, "an order to be a rank makes no sense");
  }
  return {};
}

}  // namespace

Result<RankOrder> write_order(const RankPlan& plan) {
  const ExchangeOptions& options = plan.options;
  if (options.shares_work != 0 || options.trace_events != 0) {
    return fail(ErrorCode::invalid_argument,
                "ExchangeOptions::shares_work and trace_events are not for nodes as ranks");
  }
  RankOrder order;
  order.rank = plan.meet.rank;
  order.nodes = plan.meet.ranks - 1;
  order.exchange = plan.exchange;
  order.chunk_bytes = options.chunk_bytes;
  order.queue_bytes = options.queue_bytes;
  order.spill_bytes = options.spill_bytes;
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  order.workers = static_cast<std::uint32_t>(std::min<std::size_t>(options.workers, kMost));
  order.patience_ms = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(options.patience.count(), 0, std::int64_t{kMost}));
  order.deterministic = options.deterministic ? 1 : 0;
  order.pace = static_cast<std::uint8_t>(plan.pace);
  order.way = static_cast<std::uint8_t>(plan.meet.way);
  if (plan.meet.address.size() > order.address.size()) {
    return fail(ErrorCode::bad_address, "ranks cannot meet at {}: the address is too long",
                plan.meet.address);
  }
  order.address_size = static_cast<std::uint8_t>(plan.meet.address.size());
  std::copy(plan.meet.address.begin(), plan.meet.address.end(), order.address.begin());
  GODWIT_CHECK(check(order));
  return order;
}

Result<RankPlan> read_order(Bytes bytes) {
  RankOrder order;
  if (bytes.size() != sizeof order) {
    return fail(ErrorCode::invalid_argument, "an order to be a rank is {} bytes, not {}",
                sizeof order, bytes.size());
  }
  std::memcpy(&order, bytes.data(), sizeof order);
  GODWIT_CHECK(check(order));
  RankPlan plan;
  plan.exchange = order.exchange;
  plan.meet.rank = order.rank;
  plan.meet.ranks = order.nodes + 1;
  plan.meet.address.assign(order.address.begin(), order.address.begin() + order.address_size);
  plan.meet.patience = std::chrono::milliseconds(order.patience_ms);
  plan.meet.way = static_cast<Way>(order.way);
  plan.options.chunk_bytes = order.chunk_bytes;
  plan.options.queue_bytes = order.queue_bytes;
  plan.options.spill_bytes = order.spill_bytes;
  plan.options.workers = order.workers;
  plan.options.deterministic = order.deterministic != 0;
  plan.options.patience = plan.meet.patience;
  plan.pace = static_cast<Pace>(order.pace);
  return plan;
}

}  // namespace godwit::forward
