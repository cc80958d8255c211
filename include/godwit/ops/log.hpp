// A log in a region: records that many append to and anybody reads.
//
//   auto log = godwit::ops::Log<Event>::create(fleet, "events", {.records_per_shard = 1 <<
//   20}).value(); godwit::Outcome<std::uint64_t> at = log.append(0, event).get(); auto events =
//   log.records().get(*at, 1).get();
//
// Each shard is a log of its own; a second region, NAME.count, says how many records each has. A
// record is there before it is counted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/detail/op_calls.hpp"
#include "godwit/fleet.hpp"
#include "godwit/region.hpp"

namespace godwit::ops {

struct LogOptions {
  std::uint64_t records_per_shard = 0;
  std::vector<NodeHandle> nodes{};  // one shard each; empty: all nodes that are up
  bool in_files = false;
};

// Cheap to copy; any thread. The fleet outlives it.
template <class T>
class Log {
 public:
  // Errors: as Region::create().
  [[nodiscard]] static Result<Log> create(Fleet& fleet, std::string_view name,
                                          const LogOptions& options) {
    const std::vector<NodeHandle> nodes = options.nodes.empty() ? fleet.nodes() : options.nodes;
    auto records = Region<T>::create(fleet, name,
                                     {.elements = options.records_per_shard * nodes.size(),
                                      .nodes = nodes,
                                      .in_files = options.in_files});
    if (!records) return tl::unexpected(std::move(records).error());
    auto counts = Region<std::uint64_t>::create(
        fleet, count_name(name),
        {.elements = nodes.size(), .nodes = nodes, .in_files = options.in_files});
    if (!counts) {
      static_cast<void>(records->drop());
      return tl::unexpected(std::move(counts).error());
    }
    return Log(*std::move(records), *std::move(counts));
  }
  // Errors: as Region::attach().
  [[nodiscard]] static Result<Log> attach(Fleet& fleet, std::string_view name) {
    auto records = Region<T>::attach(fleet, name);
    if (!records) return tl::unexpected(std::move(records).error());
    auto counts = Region<std::uint64_t>::attach(fleet, count_name(name));
    if (!counts) return tl::unexpected(std::move(counts).error());
    return Log(*std::move(records), *std::move(counts));
  }

  // Appends to a shard: one record, or several side by side, of 8 KiB together at most. The index
  // of the first in records(). Appends of different callers do not mix. resource_exhausted: not all
  // of them fit, and none was appended. node_lost: they may have been, and are lost with the shard.
  Future<std::uint64_t> append(std::uint32_t shard, std::span<const T> values) const {
    if (auto fits = detail::check_append(records_.handle(), shard, values.size_bytes()); !fits) {
      return detail::known<std::uint64_t>(tl::unexpected(std::move(fits).error()));
    }
    return Future<std::uint64_t>(
        detail::start_append(records_.handle(), counts_.handle(), shard, std::as_bytes(values)),
        &detail::element_of<std::uint64_t>);
  }
  Future<std::uint64_t> append(std::uint32_t shard, const T& value) const {
    return append(shard, std::span(&value, 1));
  }

  // How many records a shard has; those from first() on so many are complete.
  [[nodiscard]] Outcome<std::uint64_t> size(std::uint32_t shard) const {
    return counts_.load(shard);
  }
  [[nodiscard]] std::uint64_t first(std::uint32_t shard) const {
    return detail::first_of_shard(records_.handle(), shard);
  }
  [[nodiscard]] const Region<T>& records() const noexcept { return records_; }
  Status drop() {
    Status dropped = records_.drop();
    Status counts = counts_.drop();
    return dropped ? counts : dropped;
  }

 private:
  Log(Region<T> records, Region<std::uint64_t> counts)
      : records_(std::move(records)), counts_(std::move(counts)) {}
  static std::string count_name(std::string_view name) { return std::string(name) + ".count"; }

  Region<T> records_;
  Region<std::uint64_t> counts_;
};

}  // namespace godwit::ops
