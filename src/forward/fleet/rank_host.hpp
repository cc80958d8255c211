// A process that takes part in exchanges over a fleet: as a node, whose functions are ranks, or as
// a program that opens them (node/fleet_ranks.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "call/ranks.hpp"
#include "forward/fleet/rank_plan.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::forward {

// Any thread.
class RankHost final : public call::Ranks {
 public:
  struct Options {
    std::string name;  // of this process, for people
    std::optional<trust::FleetKey> key;
    // Where a node can be reached, as the fleet knows it.
    std::function<std::vector<std::string>(NodeId)> addresses_of;
    // Functions that are ranks at the same time; more are refused as overload.
    std::size_t max_ranks = 64;
  };
  explicit RankHost(Options options) : options_(std::move(options)) {}

  // Meets the others, is a rank until no item is left anywhere, and leaves nothing behind.
  Status run(godwit_rank_v1& rank, const Interrupted& interrupted) override;

  // What the ranks of an exchange prove to each other that they have; it follows from the fleet's
  // key, so that it need not travel. Empty in a fleet without one.
  [[nodiscard]] std::string key_of(const std::array<std::uint64_t, 2>& exchange) const;
  [[nodiscard]] std::vector<std::string> addresses_of(NodeId node) const {
    return options_.addresses_of(node);
  }

 private:
  [[nodiscard]] Status be_rank(godwit_rank_v1& rank, const Interrupted& interrupted) const;

  const Options options_;
  std::atomic<std::size_t> open_ = 0;
};

}  // namespace godwit::forward
