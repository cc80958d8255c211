// Memory that nodes expose under a name, as a program sees it (docs/regions.md).
//
//   auto list = godwit::Region<std::uint64_t>::create(fleet, "list", {.elements = 1'000'000}).value();
//   list.put(7, 42).get();
//   godwit::Outcome<std::uint64_t> x = list.load(7);
//   auto old = list.fetch_add(7, 1).get();
//
// A region's elements are dealt out to nodes. Those of nodes of this host are mapped and read with
// plain loads; the others are reached by calls of godwit's own mobile functions, which check range
// and rights at the home. A shard whose node died is lost: everything that touches it ends as
// node_lost and names region and range, also where its memory is still mapped here.
//
// Order: operations on one element from one thread through one Region take effect in the order in
// which they were waited for. fence() waits for all that were begun. Elements of 1, 2, 4 or 8 bytes
// are read and written whole; larger ones may be torn by a writer at the same time, and so may
// ranges. fetch_add and compare_swap are atomic with each other on every path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/future.hpp"
#include "godwit/outcome.hpp"
#include "godwit/sharding.hpp"
#include "godwit/types.hpp"

namespace godwit {

namespace region {
class Attachment;
}

struct RegionOptions {
  std::uint64_t elements = 0;
  // How far grow() can take it; 0: elements. Room costs address space only until it is used.
  std::uint64_t capacity = 0;
  Sharding sharding = Sharding::blocks();
  // One shard each, in this order; empty: all nodes that are up, in order of their names.
  std::vector<NodeHandle> nodes{};
  // Keep the shards in files of the nodes' region folders (setting region_dir): they outlive their
  // nodes, and a region created again under the same name and shape finds its data there.
  bool in_files = false;
};

struct ShardDescription {
  std::uint32_t shard = 0;
  std::uint64_t node = 0;
  std::uint64_t elements = 0;
  bool lost = false;    // its node has ended or started anew since
  bool mapped = false;  // read here with plain loads
};

struct RegionDescription {
  std::uint64_t id = 0;
  std::string name;
  std::string type;  // of an element, docs/types.md
  std::uint64_t elements = 0;
  std::uint64_t capacity = 0;
  std::uint32_t element_size = 0;
  bool sealed = false;
  bool in_files = false;
  std::vector<ShardDescription> shards;
};

// How an element is reached.
enum class Reach : std::uint8_t {
  automatic,  // direct where the shard is mapped, a message otherwise
  message,    // always ask the home
};

// Points at one element; a small value that travels, and means the same everywhere in the fleet.
template <class T>
struct RemotePtr {
  std::uint64_t region = 0;
  std::uint64_t index = 0;
  friend bool operator==(const RemotePtr&, const RemotePtr&) = default;
  RemotePtr operator+(std::int64_t count) const noexcept {
    return {region, index + static_cast<std::uint64_t>(count)};
  }
};

// Cheap to copy; any thread. The fleet outlives it. It does not own the region, which lives until
// drop() or as long as its nodes.
template <class T>
class Region;

}  // namespace godwit
