#include "region/shard_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "fabric/fd.hpp"
#include "godwit/sharding.hpp"

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
  ContentId type;  // the hash of its string, and of where a placed map puts its chunks
};
static_assert(sizeof(Shape) == 80 && sizeof(Shape) <= ShardFile::kDataOffset);

Shape shape_of(const wire::RegionDescriptor& region, std::uint32_t number) {
  Shape shape;
  shape.element_size = region.element_size;
  shape.map = region.map;
  shape.number = number;
  std::string type = region.type;
  type.append(region.assignment.begin(), region.assignment.end());
  shape.type = ContentId::of(bytes_of(type));
  return shape;
}

// A shard may have to hold nothing at all; a segment has at least one element's room.
std::uint64_t capacity_bytes(const wire::RegionDescriptor& region, std::uint32_t number) {
  const std::vector<std::uint32_t> placement = region.placement();
  const std::uint64_t elements =
      ShardMap(region.map, placement.data()).shard_elements(number, region.map.capacity);
  return ShardFile::kDataOffset + std::max<std::uint64_t>(elements, 1) * region.element_size;
}

Result<fabric::Fd> open_locked(const std::string& path, FileUse use) {
  const int make = use == FileUse::find_or_make ? O_CREAT : 0;
  fabric::Fd file(::open(path.c_str(), O_RDWR | make | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file && errno == ENOENT && use == FileUse::find) {
    return fail(ErrorCode::not_found,
                "{} is gone: put it back and start the node again, or drop the region", path);
  }
  if (!file) {
    return fail(ErrorCode::io, "cannot open {}: {}; see the setting region_dir", path,
                errno_text(errno));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::already_exists, "{} is in use by another process: {}", path,
                errno_text(errno));
  }
  return file;
}

// The segment that the file is, or becomes.
Result<fabric::Segment> open_segment(fabric::Fd file, const wire::RegionDescriptor& region,
                                     std::uint32_t number) {
  const Shape shape = shape_of(region, number);
  GODWIT_TRY(fabric::Segment segment,
             fabric::Segment::in_file(std::move(file), capacity_bytes(region, number)));
  if (segment.used_bytes() < ShardFile::kDataOffset) {
    GODWIT_CHECK(segment.grow(ShardFile::kDataOffset));
    std::memcpy(segment.data(), &shape, sizeof shape);
  } else if (std::memcmp(segment.data(), &shape, sizeof shape) != 0) {
    return fail(ErrorCode::bad_format,
                "it holds a shard of another type or shape: remove it, or create the region as it "
                "was");
  }
  return segment;
}

// What an earlier life of the node had on its disk is there in full.
Status check_whole(const fabric::Segment& segment, const wire::RegionDescriptor& region,
                   std::uint32_t number) {
  const std::vector<std::uint32_t> placement = region.placement();
  const std::uint64_t wanted =
      ShardMap(region.map, placement.data()).shard_elements(number, region.elements);
  const std::uint64_t there = (segment.used_bytes() - ShardFile::kDataOffset) / region.element_size;
  if (there >= wanted) return {};
  return fail(ErrorCode::bad_format, "it holds {} elements of the {} that the shard had", there,
              wanted);
}

}  // namespace

Result<ShardFile> ShardFile::open(const std::string& directory,
                                  const wire::RegionDescriptor& region, std::uint32_t number,
                                  FileUse use) {
  if (directory.empty()) {
    return fail(ErrorCode::invalid_argument,
                "region '{}' is to lie in files, and this node has no folder for them: set "
                "region_dir",
                region.name);
  }
  GODWIT_CHECK(wire::validate_region_name(region.name));  // or it could lead out of the directory
  ShardFile opened;
  opened.path = fmt::format("{}/{}.{}", directory, region.name, number);
  GODWIT_TRY(fabric::Fd file, open_locked(opened.path, use));
  struct stat info{};
  const bool is_new = ::fstat(file.get(), &info) == 0 && info.st_size == 0;
  opened.found = !is_new;
  auto segment = open_segment(std::move(file), region, number);
  Status whole;
  if (segment && use == FileUse::find) whole = check_whole(*segment, region, number);
  if (segment && whole) {
    opened.segment = *std::move(segment);
    return opened;
  }
  if (is_new && use == FileUse::find_or_make) ::unlink(opened.path.c_str());
  const Error& why = segment ? whole.error() : segment.error();
  return fail(why.code == ErrorCode::bad_format ? ErrorCode::already_exists : why.code, "{}: {}",
              opened.path, why.message);
}

}  // namespace godwit::region
