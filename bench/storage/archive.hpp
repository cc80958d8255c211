// Records in files of storage nodes, and the ways to ask for a summary of some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "godwit/godwit.hpp"
#include "godwit/ops/every_shard.hpp"
#include "godwit/ops/reduce.hpp"
#include "storage/mobile/record.hpp"

namespace godwit::bench {

enum class Way : std::uint8_t {
  at_data,  // filtered and summed up by the nodes
  select,   // filtered by the nodes, summed up here
  pull,     // every record comes here
};
inline constexpr std::size_t kWays = 3;

struct Asked {
  storage::Summary summary{};
  double seconds = 0;
  std::uint64_t bytes = 0;  // of records and answers that came here
};

struct PullOptions {
  std::size_t chunk_bytes = std::size_t{256} << 10;
  std::size_t in_flight = 16;
};

// One thread. Dropped, with its files, at its end.
class Archive {
 public:
  using Records = Region<storage::Record>;

  // Makes the region on all nodes of the fleet and fills it. Errors: as those of Region::create()
  // and store(), and of Bundle::open().
  [[nodiscard]] static Result<std::unique_ptr<Archive>> create(Fleet& fleet, std::uint64_t records,
                                                               const PullOptions& pull);
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  ~Archive();

  // Of the records whose key is not above the bound.
  [[nodiscard]] Result<Asked> ask(Way way, std::uint32_t bound) const;
  // The same by arithmetic: what every way must come to.
  [[nodiscard]] storage::Summary expected(std::uint32_t bound) const;

 private:
  using Summarise = Function<storage::Summary(ops::TreePart, std::uint32_t)>;
  using Select = Function<std::vector<storage::Record>(std::uint64_t, std::uint64_t, std::uint64_t,
                                                       std::uint32_t)>;

  Archive(Records records, Summarise summarise, Select select, const PullOptions& pull)
      : records_(std::move(records)),
        summarise_(std::move(summarise)),
        select_(std::move(select)),
        pull_(pull) {}
  [[nodiscard]] Status select(std::uint32_t bound, Asked& asked) const;
  [[nodiscard]] Status pull(std::uint32_t bound, Asked& asked) const;

  Records records_;
  Summarise summarise_;
  Select select_;
  PullOptions pull_;
};

}  // namespace godwit::bench
