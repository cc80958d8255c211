// A shard that lies in a file: which file, and what must be the same for its data to be the
// shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/memory/segment.hpp"
#include "wire/region.hpp"

namespace godwit::region {

// Whether a file that is not there may be made.
enum class FileUse : std::uint8_t {
  find_or_make,
  find,  // the shard was made in an earlier life of the node: a new file would hold zeros
};

struct ShardFile {
  // In the segment: a page that says which shard of which shape this is, then the elements.
  static constexpr std::size_t kDataOffset = fabric::kPageSize;

  fabric::Segment segment;
  std::string path;
  bool found = false;  // it was there before, with what it holds

  // Opens NAME.NUMBER in the directory, or makes it; it is locked until the segment ends, so that
  // no other process writes to it. A file that cannot be made whole is removed again. Errors:
  // invalid_argument (no directory), already_exists (it holds something else, or another process
  // has it), not_found (it was to be found), io, resource_exhausted (the disk is full).
  [[nodiscard]] static Result<ShardFile> open(const std::string& directory,
                                              const wire::RegionDescriptor& region,
                                              std::uint32_t number, FileUse use);
};

}  // namespace godwit::region
