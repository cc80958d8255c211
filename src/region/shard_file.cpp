#include "region/shard_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "fabric/fd.hpp"

namespace godwit::region {
namespace {

// The first page of the segment. Compared as a whole.
struct Shape {
  char magic[8] = {'G', 'D', 'W', 'S', 'H', 'A', 'R', 'D'};
  std::uint32_t format = 1;
  std::uint32_t element_size = 0;
  godwit_shard_map map{};
  std::uint32_t number = 0;
  std::uint32_t reserved = 0;
  ContentId type;  // the hash of its string
};
static_assert(sizeof(Shape) == 80 && sizeof(Shape) <= ShardFile::kDataOffset);

Result<fabric::Fd> open_locked(const std::string& path) {
  fabric::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(ErrorCode::io, "cannot open {}: {}", path, errno_text(errno));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::already_exists, "{} is in use by another process: {}", path,
                errno_text(errno));
  }
  return file;
}

}  // namespace

Result<ShardFile> ShardFile::open(const std::string& directory,
                                  const wire::RegionDescriptor& region, std::uint32_t number,
                                  std::uint64_t data_bytes) {
  if (directory.empty()) {
    return fail(ErrorCode::invalid_argument,
                "region '{}' is to lie in files, and this node has no folder for them: set "
                "region_dir",
                region.name);
  }
  GODWIT_CHECK(wire::validate_region_name(region.name));  // or it could lead out of the directory
  Shape shape;
  shape.element_size = region.element_size;
  shape.map = region.map;
  shape.number = number;
  shape.type = ContentId::of(bytes_of(region.type));

  ShardFile opened;
  opened.path = fmt::format("{}/{}.{}", directory, region.name, number);
  GODWIT_TRY(fabric::Fd file, open_locked(opened.path));
  struct stat info{};
  const bool fresh = ::fstat(file.get(), &info) == 0 && info.st_size == 0;
  auto segment = fabric::Segment::in_file(std::move(file), kDataOffset + data_bytes);
  if (!segment) {
    if (fresh) ::unlink(opened.path.c_str());
    const ErrorCode code = segment.error().code;
    return fail(code == ErrorCode::bad_format ? ErrorCode::already_exists : code, "{}: {}",
                opened.path, segment.error().message);
  }
  opened.segment = *std::move(segment);
  if (opened.segment.used_bytes() < kDataOffset) {
    GODWIT_CHECK(opened.segment.grow(kDataOffset));
    std::memcpy(opened.segment.data(), &shape, sizeof shape);
  } else if (std::memcmp(opened.segment.data(), &shape, sizeof shape) != 0) {
    return fail(ErrorCode::already_exists,
                "{} holds a shard of another type or shape: remove it, or create the region as it "
                "was",
                opened.path);
  }
  return opened;
}

}  // namespace godwit::region
