#include "ops/calibrate.hpp"

#include <algorithm>

#include "ops/choice.hpp"

namespace godwit::ops {
namespace {

using Clock = CostBook::Clock;

constexpr int kGets = 4;            // after one that may have to connect and ship code
constexpr std::uint32_t kHops = 8;  // of one travelling call
constexpr int kTravels = 2;         // likewise after one
constexpr std::uint64_t kLoads = 256;
constexpr std::uint64_t kLoadStride = 512;  // elements; more than a prefetcher looks ahead

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

class Calibration {
 public:
  explicit Calibration(const Attachment& region)
      : region_(region), book_(region.host().costs()), end_(Clock::now() + kCalibrationLimit) {}

  std::optional<double> load(std::uint32_t shard) {
    const NodeId node = region_.shards()[shard].node;
    if (const auto known = book_.load(node); known && known->is_fresh()) return known->ns;
    const auto& mapped = region_.shards()[shard].mapped;
    const std::uint64_t elements = elements_of(shard);
    if (mapped == nullptr || elements == 0) return std::nullopt;
    const std::uint32_t size = region_.element_size();
    std::uint64_t sum = 0;
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < kLoads; ++i) {
      // Each address depends on the load before, as in a chase.
      const std::uint64_t at = (i * kLoadStride + (sum & 1U)) % elements;
      sum += __atomic_load_n(reinterpret_cast<const unsigned char*>(mapped->data()) + at * size,
                             __ATOMIC_RELAXED);
    }
    book_.set_load(node, ns_since(begin) / kLoads);
    return book_.load(node)->ns;
  }

  std::optional<double> get(std::uint32_t shard) {
    const NodeId node = region_.shards()[shard].node;
    const auto known = book_.get(node);
    if (known && known->is_fresh()) return known->ns;
    const auto measured = elements_of(shard) == 0 ? std::nullopt : best_of(kGets, [&] {
      const Note note = region_.note("get", 0, 1, shard);
      return region_.is_word()
                 ? region_.call(Op::get_word, note, region_.id(), shard, std::uint64_t{0})
                 : region_.call(Op::get, note, region_.id(), shard, std::uint64_t{0},
                                std::uint64_t{1});
    });
    if (measured) book_.set_get(node, *measured);
    return measured ? measured : known ? std::optional(known->ns) : std::nullopt;
  }

  // Between that shard's node and the next one's, there and back and there again.
  std::optional<double> hop(std::uint32_t shard, std::optional<double> get_ns) {
    const auto& shards = region_.shards();
    const NodeId from = shards[shard].node;
    const NodeId to = shards[(shard + 1) % shards.size()].node;
    if (from == to || !get_ns) return std::nullopt;
    const auto known = book_.hop(from, to);
    if (known && known->is_fresh()) return known->ns;
    const auto measured = best_of(kTravels, [&] {
      return region_.call(Op::hop, region_.note("hop", 0, 1, shard), from.value, to.value, kHops);
    });
    if (measured) book_.set_hop(from, to, std::max(0.0, *measured - *get_ns) / kHops);
    const auto now = book_.hop(from, to);
    return now ? std::optional(now->ns) : std::nullopt;
  }

 private:
  [[nodiscard]] std::uint64_t elements_of(std::uint32_t shard) const {
    return region_.map().shard_elements(shard, region_.elements());
  }

  // The quickest: what comes on top of it is other people's business.
  template <class Begin>
  std::optional<double> best_of(int times, const Begin& begin_call) {
    std::optional<double> best;
    for (int i = 0; i <= times; ++i) {
      const auto left = end_ - Clock::now();
      if (left <= Clock::duration::zero()) return best;
      const auto begin = Clock::now();
      detail::CallHandle call = begin_call();
      if (!call || !call.wait(left) || !call.ok()) return best;
      if (i > 0) best = std::min(best.value_or(ns_since(begin)), ns_since(begin));
    }
    return best;
  }

  const Attachment& region_;
  CostBook& book_;
  const Clock::time_point end_;
};

}  // namespace

std::vector<ShardCost> calibrate(const Attachment& region) {
  Calibration calibration(region);
  const auto elements = static_cast<double>(std::max<std::uint64_t>(1, region.elements()));
  std::vector<ShardCost> costs;
  for (std::uint32_t i = 0; i < region.shards().size(); ++i) {
    const Attachment::Shard& shard = region.shards()[i];
    ShardCost cost{
        .shard = i,
        .node = region.host().caller().options().name_of(shard.node),
        .share = static_cast<double>(region.map().shard_elements(i, region.elements())) / elements,
        .mapped = shard.mapped != nullptr,
        .lost = shard.mapped != nullptr && !shard.mapped->home_lives()};
    if (!cost.lost) {
      cost.load_ns = calibration.load(i);
      cost.get_ns = calibration.get(i);
      cost.hop_ns = calibration.hop(i, cost.get_ns);
    }
    costs.push_back(std::move(cost));
  }
  region.remember(step_costs(costs));
  return costs;
}

}  // namespace godwit::ops
