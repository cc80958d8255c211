// What the ways to ask an archive took, for people and programs.
#pragma once

#include <array>
#include <span>
#include <string>

#include "storage/archive.hpp"

namespace godwit::bench {

// One share of the records, asked for in every way.
struct StorageLine {
  std::string path{};  // "tcp", "shm", or what the link is like
  double share = 0;    // of the records that match
  std::array<Asked, kWays> ways{};

  [[nodiscard]] const Asked& by(Way way) const { return ways[static_cast<std::size_t>(way)]; }
};

// Aligned, and Markdown at the same time.
[[nodiscard]] std::string to_text(std::span<const StorageLine> lines);
// A JSON array, one object for each line.
[[nodiscard]] std::string to_json(std::span<const StorageLine> lines);

}  // namespace godwit::bench
