// Why an operation on a region gets at its elements the way it does.
//
//   std::puts(godwit::ops::to_text(godwit::ops::explain(list, 64)).c_str());
//   auto sum = godwit::ops::explain(list, {.operation = godwit::ops::Operation::reduce});
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

// What can be explained, and what its amount counts.
enum class Operation : std::uint8_t {
  chase,      // steps
  get,        // consecutive elements
  gather,     // elements anywhere
  list_find,  // nodes that are looked at
  tree_find,  // levels; 0: as many as a full tree of the region's size has
  hash_get,   // keys; always one
  k_hop,      // vertices that are reached
  reduce,     // elements; 0: all
};

struct Work {
  Operation operation = Operation::chase;
  std::uint64_t amount = 0;
  std::uint32_t hops = 2;  // of a k_hop
};

// What one shard costs this process. A figure that is missing could not be measured: the shard is
// lost or empty, its home did not answer in time, or there is no other node to hop to.
struct ShardCost {
  std::uint32_t shard = 0;
  std::string node;
  double share = 0;  // of the region's elements
  bool mapped = false;
  bool lost = false;
  std::optional<double> load_ns{};       // a plain load, if mapped
  std::optional<double> get_ns{};        // one element, asked for and answered
  std::optional<double> hop_ns{};        // a travelling call from its node to the next shard's
  std::optional<double> work_ns{};       // a call that a worker there runs
  std::optional<double> pull_byte_ns{};  // each byte of a large get
};

struct Candidate {
  Mechanism mechanism = Mechanism::code;
  bool possible = true;
  double expected_ns = 0;  // of the whole operation, nothing else being under way; 0: not known
};

struct Decision {
  Mechanism chosen = Mechanism::code;
  std::string why;
  Operation operation = Operation::chase;
  std::uint64_t steps = 0;  // the amount, as Operation counts it
  double hop_share = 0;     // of steps that lead to another shard, if the list is in random order
  std::vector<ShardCost> shards;
  double scan_byte_ns = 0;            // each byte that is read in order
  std::vector<Candidate> candidates;  // direct, get, code
};

[[nodiscard]] GODWIT_API std::string_view to_string(Mechanism mechanism) noexcept;
[[nodiscard]] GODWIT_API std::string_view to_string(Operation operation) noexcept;
// none: no operation is called that.
[[nodiscard]] GODWIT_API std::optional<Operation> operation_named(std::string_view name) noexcept;
// A table for people.
[[nodiscard]] GODWIT_API std::string to_text(const Decision& decision);

// What `automatic` does for that work; with another mechanism, what that would cost. Measures first
// what was not measured within the last minute, 0.2 s at most; operations that follow use the
// figures. A k_hop is explained with the region of its offsets.
[[nodiscard]] GODWIT_API Decision explain(const detail::RegionHandle& region, const Work& work,
                                          Mechanism mechanism = Mechanism::automatic);
template <class T>
[[nodiscard]] Decision explain(const Region<T>& region, const Work& work,
                               Mechanism mechanism = Mechanism::automatic) {
  return explain(region.handle(), work, mechanism);
}
// The same for a chase of so many steps, or so many dependent reads in general.
template <class T>
[[nodiscard]] Decision explain(const Region<T>& region, std::uint64_t steps,
                               Mechanism mechanism = Mechanism::automatic) {
  return explain(region.handle(), Work{.amount = steps}, mechanism);
}

}  // namespace godwit::ops
