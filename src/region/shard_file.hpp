// A shard that lies in a file: which file, and what must be the same for its data to be the
// shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/memory/segment.hpp"
#include "wire/region.hpp"

namespace godwit::region {

struct ShardFile {
  // In the segment: a page that says which shard of which shape this is, then the elements.
  static constexpr std::size_t kDataOffset = fabric::kPageSize;

  fabric::Segment segment;
  std::string path;

  // Opens NAME.NUMBER in the directory, or makes it; it is locked until the segment ends, so that
  // no other process writes to it. Errors: invalid_argument (no directory), already_exists (it has
  // another shape, or another process has it), io, resource_exhausted.
  [[nodiscard]] static Result<ShardFile> open(const std::string& directory,
                                              const wire::RegionDescriptor& region,
                                              std::uint32_t number, std::uint64_t data_bytes);
};

}  // namespace godwit::region
