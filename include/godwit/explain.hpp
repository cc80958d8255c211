// Why an operation on a region gets at its elements the way it does.
//
//   std::puts(godwit::ops::to_text(godwit::ops::explain(list, 64)).c_str());
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/ops.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

// What one shard costs this process. A figure that is missing could not be measured: the shard is
// lost or empty, its home did not answer in time, or there is no other node to hop to.
struct ShardCost {
  std::uint32_t shard = 0;
  std::string node;
  double share = 0;  // of the region's elements
  bool mapped = false;
  bool lost = false;
  std::optional<double> load_ns{};  // a plain load, if mapped
  std::optional<double> get_ns{};   // one element, asked for and answered
  std::optional<double> hop_ns{};   // a travelling call from its node to the next shard's
};

struct Candidate {
  Mechanism mechanism = Mechanism::code;
  bool possible = true;
  double expected_ns = 0;  // of the whole operation, nothing else being under way; 0: not known
};

struct Decision {
  Mechanism chosen = Mechanism::code;
  std::string why;
  std::uint64_t steps = 0;
  double hop_share = 0;  // of steps that lead to another shard, if the list is in random order
  std::vector<ShardCost> shards;
  std::vector<Candidate> candidates;  // direct, get, code
};

[[nodiscard]] GODWIT_API std::string_view to_string(Mechanism mechanism) noexcept;
// A table for people.
[[nodiscard]] GODWIT_API std::string to_text(const Decision& decision);

// What `automatic` does for a chase of so many steps, or for so many dependent reads in general;
// with another mechanism, what that would cost. Measures first what was not measured within the
// last minute, 0.2 s at most; chases that follow use the figures.
[[nodiscard]] GODWIT_API Decision explain(const detail::RegionHandle& region, std::uint64_t steps,
                                          Mechanism mechanism = Mechanism::automatic);
template <class T>
[[nodiscard]] Decision explain(const Region<T>& region, std::uint64_t steps,
                               Mechanism mechanism = Mechanism::automatic) {
  return explain(region.handle(), steps, mechanism);
}

}  // namespace godwit::ops
