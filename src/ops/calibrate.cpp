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
constexpr int kPulls = 2;
constexpr std::uint64_t kPullBytes = std::uint64_t{64} << 10;
constexpr std::size_t kScanWords = std::size_t{1} << 16;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

std::optional<double> ns_of(const std::optional<CostBook::Figure>& figure) {
  return figure ? std::optional(figure->ns) : std::nullopt;
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
    return ns_of(book_.load(node));
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
    return ns_of(book_.get(node));
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
    return ns_of(book_.hop(from, to));
  }

  // A call that is handed to a worker there.
  std::optional<double> work(std::uint32_t shard) {
    const NodeId node = region_.shards()[shard].node;
    const auto known = book_.work(node);
    if (known && known->is_fresh()) return known->ns;
    const std::uint64_t first = 0;
    const auto measured = elements_of(shard) == 0 ? std::nullopt : best_of(kPulls, [&] {
      return region_.call(Op::gather_bulk, region_.note("gather", 0, 1, shard), region_.id(), shard,
                          std::span<const std::uint64_t>(&first, 1));
    });
    if (measured) book_.set_work(node, *measured);
    return ns_of(book_.work(node));
  }

  std::optional<double> pull_byte(std::uint32_t shard, std::optional<double> work_ns) {
    const NodeId node = region_.shards()[shard].node;
    const auto known = book_.pull_byte(node);
    if (known && known->is_fresh()) return known->ns;
    const std::uint64_t size = region_.element_size();
    const std::uint64_t count = std::min(elements_of(shard), kPullBytes / size);
    // Of a few bytes nothing can be told.
    if (!work_ns || count * size < kPullBytes / 8) return ns_of(known);
    const auto measured = best_of(kPulls, [&] {
      return region_.call(Op::get_bulk, region_.note("get", 0, count, shard), region_.id(), shard,
                          std::uint64_t{0}, count);
    });
    if (measured) {
      book_.set_pull_byte(node,
                          std::max(0.0, *measured - *work_ns) / static_cast<double>(count * size));
    }
    return ns_of(book_.pull_byte(node));
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

// The shards without their figures.
std::vector<ShardCost> bare_costs(const Attachment& region) {
  const auto elements = static_cast<double>(std::max<std::uint64_t>(1, region.elements()));
  std::vector<ShardCost> costs;
  for (std::uint32_t i = 0; i < region.shards().size(); ++i) {
    const Attachment::Shard& shard = region.shards()[i];
    costs.push_back(
        {.shard = i,
         .node = region.host().caller().options().name_of(shard.node),
         .share = static_cast<double>(region.map().shard_elements(i, region.elements())) / elements,
         .mapped = shard.mapped != nullptr,
         .lost = shard.mapped != nullptr && !shard.mapped->home_lives()});
  }
  return costs;
}

}  // namespace

// Once in a process: memory does not get quicker.
double scan_byte_ns() {
  static const double figure = [] {
    const std::vector<std::uint64_t> words(kScanWords, 1);
    double best = 0;
    for (int i = 0; i < 3; ++i) {
      std::uint64_t sum = 0;
      const auto begin = Clock::now();
      for (const std::uint64_t& word : words) sum += __atomic_load_n(&word, __ATOMIC_RELAXED);
      const double ns = ns_since(begin) / (kScanWords * sizeof(std::uint64_t));
      if (sum == kScanWords && (i == 0 || ns < best)) best = ns;
    }
    return best;
  }();
  return figure;
}

StepCosts recall(const Attachment& region) {
  const CostBook& book = region.host().costs();
  const auto& shards = region.shards();
  std::vector<ShardCost> costs = bare_costs(region);
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    if (costs[i].lost) continue;
    const NodeId node = shards[i].node;
    costs[i].load_ns = ns_of(book.load(node));
    costs[i].get_ns = ns_of(book.get(node));
    costs[i].hop_ns = ns_of(book.hop(node, shards[(i + 1) % shards.size()].node));
    costs[i].work_ns = ns_of(book.work(node));
    costs[i].pull_byte_ns = ns_of(book.pull_byte(node));
  }
  const StepCosts joined = step_costs(costs, scan_byte_ns());
  region.remember(joined);
  return joined;
}

std::vector<ShardCost> calibrate(const Attachment& region) {
  Calibration calibration(region);
  std::vector<ShardCost> costs = bare_costs(region);
  for (std::uint32_t i = 0; i < costs.size(); ++i) {
    ShardCost& cost = costs[i];
    if (cost.lost) continue;
    cost.load_ns = calibration.load(i);
    cost.get_ns = calibration.get(i);
    cost.hop_ns = calibration.hop(i, cost.get_ns);
    cost.work_ns = calibration.work(i);
    cost.pull_byte_ns = calibration.pull_byte(i, cost.work_ns);
  }
  region.remember(step_costs(costs, scan_byte_ns()));
  return costs;
}

}  // namespace godwit::ops
