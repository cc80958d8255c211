#include "wire/region.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/fail.hpp"
#include "godwit/sharding.hpp"

namespace godwit::wire {
namespace {

struct RegionHead {
  std::uint16_t format = 1;
  std::uint8_t state = 0;
  std::uint8_t flags = 0;
  std::uint32_t element_size = 0;
  std::uint64_t id = 0;
  std::uint64_t version = 0;
  std::uint64_t elements = 0;
  std::uint64_t capacity = 0;
  std::uint64_t chunk = 0;
  std::uint32_t shards = 0;
  std::uint32_t kind = 0;
  std::uint16_t name_size = 0;
  std::uint16_t type_size = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(RegionHead) == 64 && std::is_trivially_copyable_v<RegionHead>);
static_assert(sizeof(RegionShard) == 16 && std::is_trivially_copyable_v<RegionShard>);
static_assert(sizeof(RegionHead) + kMaxRegionShards * sizeof(RegionShard) + kMaxRegionNameBytes +
                  kMaxRegionTypeBytes <=
              kMaxDescriptorBytes);

constexpr std::uint16_t kFormat = 1;
constexpr std::uint8_t kInFiles = 1;
constexpr std::uint8_t kUndone = 2;

Status validate_shape(const RegionDescriptor& region) {
  const godwit_shard_map& map = region.map;
  if (region.element_size == 0) {
    return fail(ErrorCode::invalid_argument, "region '{}': an element has a size", region.name);
  }
  if (map.capacity == 0 || map.capacity > kMaxRegionBytes / region.element_size) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': room for {} elements of {} bytes; from one element to {} bytes are "
                "allowed",
                region.name, map.capacity, region.element_size, kMaxRegionBytes);
  }
  if (region.elements > map.capacity) {
    return fail(ErrorCode::invalid_argument, "region '{}': {} elements, and room for {}",
                region.name, region.elements, map.capacity);
  }
  if (map.chunk == 0 || map.chunk > map.capacity) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': chunks of {} elements; from 1 to the capacity, {}, are allowed",
                region.name, map.chunk, map.capacity);
  }
  if (map.kind != GODWIT_SHARD_IN_ORDER && map.kind != GODWIT_SHARD_HASHED &&
      map.kind != GODWIT_SHARD_PLACED) {
    return fail(ErrorCode::invalid_argument, "region '{}': no sharding has the number {}",
                region.name, map.kind);
  }
  if (map.shards == 0 || map.shards > kMaxRegionShards || map.shards != region.shards.size()) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': sharded {} ways over {} nodes; the two are the same, from 1 to {}",
                region.name, map.shards, region.shards.size(), kMaxRegionShards);
  }
  return {};
}

std::size_t encoded_size(const RegionDescriptor& region) {
  return sizeof(RegionHead) + region.shards.size() * sizeof(RegionShard) + region.name.size() +
         region.type.size() + region.assignment.size();
}

Status validate_placement(const RegionDescriptor& region) {
  const godwit_shard_map& map = region.map;
  const std::uint64_t chunks = map.kind == GODWIT_SHARD_PLACED ? chunk_count(map) : 0;
  if (chunks > kMaxPlacedChunks) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': {} chunks of {} elements to be placed one by one; {} are allowed: "
                "make them larger",
                region.name, chunks, map.chunk, kMaxPlacedChunks);
  }
  if (region.assignment.size() != chunks) {
    return fail(ErrorCode::invalid_argument, "region '{}': {} of {} chunks have a shard",
                region.name, region.assignment.size(), chunks);
  }
  for (std::size_t chunk = 0; chunk < region.assignment.size(); ++chunk) {
    if (region.assignment[chunk] < map.shards) continue;
    return fail(ErrorCode::invalid_argument, "region '{}': chunk {} is on shard {} of {}",
                region.name, chunk, region.assignment[chunk], map.shards);
  }
  if (encoded_size(region) > kMaxDescriptorBytes) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': its {} shards and {} chunks are more than a fleet keeps of a region: "
                "use larger chunks, or fewer nodes",
                region.name, region.shards.size(), region.assignment.size());
  }
  return {};
}

}  // namespace

std::vector<std::uint32_t> RegionDescriptor::placement() const {
  if (map.kind != GODWIT_SHARD_PLACED) return {};
  std::vector<std::uint32_t> placed(placement_size(map));
  place_chunks(map, assignment, placed);
  return placed;
}

std::string_view to_string(RegionState state) noexcept {
  switch (state) {
    case RegionState::live: return "live";
    case RegionState::sealed: return "sealed";
    case RegionState::dropped: return "dropped";
  }
  return "unknown";
}

bool operator==(const RegionDescriptor& a, const RegionDescriptor& b) {
  return a.id == b.id && a.version == b.version && a.state == b.state && a.in_files == b.in_files &&
         a.undone == b.undone && a.element_size == b.element_size && a.elements == b.elements &&
         same_map(a.map, b.map) && a.name == b.name && a.type == b.type && a.shards == b.shards &&
         a.assignment == b.assignment;
}

bool same_map(const godwit_shard_map& a, const godwit_shard_map& b) noexcept {
  return a.capacity == b.capacity && a.chunk == b.chunk && a.shards == b.shards && a.kind == b.kind;
}

Status validate_region_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxRegionNameBytes && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (good) return {};
  return fail(ErrorCode::invalid_argument,
              "'{}' cannot name a region: expected 1 to {} letters, digits, '-', '_' and '.', not "
              "starting with '.'",
              name.substr(0, kMaxRegionNameBytes), kMaxRegionNameBytes);
}

Status validate(const RegionDescriptor& region) {
  GODWIT_CHECK(validate_region_name(region.name));
  if (region.id == 0 || region.version == 0) {
    return fail(ErrorCode::invalid_argument, "region '{}': neither id nor version is 0",
                region.name);
  }
  if (region.state > RegionState::dropped) {
    return fail(ErrorCode::invalid_argument, "region '{}': no state has the number {}", region.name,
                static_cast<unsigned>(region.state));
  }
  if (region.undone && region.state != RegionState::dropped) {
    return fail(ErrorCode::invalid_argument, "region '{}': undone, and yet not dropped",
                region.name);
  }
  GODWIT_CHECK(validate_shape(region));
  if (region.type.empty() || region.type.size() > kMaxRegionTypeBytes) {
    return fail(ErrorCode::invalid_argument,
                "region '{}': its element's type is spelled with {} characters; 1 to {} are "
                "allowed",
                region.name, region.type.size(), kMaxRegionTypeBytes);
  }
  const auto nobody = std::find_if(region.shards.begin(), region.shards.end(),
                                   [](const RegionShard& shard) { return !shard.node; });
  if (nobody != region.shards.end()) {
    return fail(ErrorCode::invalid_argument, "region '{}': shard {} has no node", region.name,
                nobody - region.shards.begin());
  }
  std::vector<RegionShard> sorted = region.shards;
  std::sort(sorted.begin(), sorted.end(),
            [](const RegionShard& a, const RegionShard& b) { return a.node < b.node; });
  const auto twice = std::adjacent_find(
      sorted.begin(), sorted.end(),
      [](const RegionShard& a, const RegionShard& b) { return a.node == b.node; });
  if (twice != sorted.end()) {
    return fail(ErrorCode::invalid_argument, "region '{}': node {} has two shards", region.name,
                to_hex(twice->node.value));
  }
  return validate_placement(region);
}

std::string encode(const RegionDescriptor& region) {
  RegionHead head;
  head.state = static_cast<std::uint8_t>(region.state);
  head.flags =
      static_cast<std::uint8_t>((region.in_files ? kInFiles : 0) | (region.undone ? kUndone : 0));
  head.element_size = region.element_size;
  head.id = region.id;
  head.version = region.version;
  head.elements = region.elements;
  head.capacity = region.map.capacity;
  head.chunk = region.map.chunk;
  head.shards = region.map.shards;
  head.kind = region.map.kind;
  head.name_size = static_cast<std::uint16_t>(region.name.size());
  head.type_size = static_cast<std::uint16_t>(region.type.size());
  std::string bytes(text_of(bytes_of_value(head)));
  bytes += text_of(std::as_bytes(std::span(region.shards)));
  bytes += region.name;
  bytes += region.type;
  bytes += text_of(std::as_bytes(std::span(region.assignment)));
  return bytes;
}

Result<RegionDescriptor> parse_region(Bytes bytes) {
  RegionHead head;
  if (bytes.size() < sizeof head || bytes.size() > kMaxDescriptorBytes) {
    return fail(ErrorCode::bad_format, "{} bytes are no description of a region", bytes.size());
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.format != kFormat) {
    return fail(ErrorCode::bad_format,
                "a region is described in format {}; this build knows {}: update it", head.format,
                kFormat);
  }
  const std::size_t known_bytes = sizeof head + std::size_t{head.shards} * sizeof(RegionShard) +
                                  head.name_size + head.type_size;
  const bool is_placed = head.kind == GODWIT_SHARD_PLACED;
  if (head.shards > kMaxRegionShards || bytes.size() < known_bytes ||
      (bytes.size() > known_bytes && !is_placed)) {
    return fail(ErrorCode::bad_format,
                "a region's description of {} bytes claims {} shards and {} bytes of text",
                bytes.size(), head.shards, head.name_size + head.type_size);
  }
  if ((head.flags & ~(kInFiles | kUndone)) != 0 || head.reserved != 0) {
    return fail(ErrorCode::bad_format, "a region's description has flags this build does not know");
  }
  RegionDescriptor region;
  region.id = head.id;
  region.version = head.version;
  region.state = static_cast<RegionState>(head.state);
  region.in_files = (head.flags & kInFiles) != 0;
  region.undone = (head.flags & kUndone) != 0;
  region.element_size = head.element_size;
  region.elements = head.elements;
  region.map = {head.capacity, head.chunk, head.shards, head.kind};
  bytes = bytes.subspan(sizeof head);
  region.shards.resize(head.shards);
  const std::size_t shard_bytes = head.shards * sizeof(RegionShard);
  if (shard_bytes > 0) std::memcpy(region.shards.data(), bytes.data(), shard_bytes);
  bytes = bytes.subspan(shard_bytes);
  region.name = text_of(bytes.first(head.name_size));
  region.type = text_of(bytes.subspan(head.name_size, head.type_size));
  for (const std::byte shard : bytes.subspan(std::size_t{head.name_size} + head.type_size)) {
    region.assignment.push_back(std::to_integer<std::uint8_t>(shard));
  }
  if (const Status good = validate(region); !good) {
    return fail(ErrorCode::bad_format, "{}", good.error().message);
  }
  return region;
}

Result<RegionGrant> parse_region_grant(Bytes body) {
  RegionGrant grant;
  if (body.size() != sizeof grant) {
    return fail(ErrorCode::bad_format, "{} bytes grant no region", body.size());
  }
  std::memcpy(&grant, body.data(), sizeof grant);
  if (grant.element_size == 0 || grant.capacity_bytes < grant.element_size ||
      grant.capacity_bytes > kMaxRegionBytes) {
    return fail(ErrorCode::bad_format, "elements of {} bytes do not fit into a shard of {}",
                grant.element_size, grant.capacity_bytes);
  }
  return grant;
}

}  // namespace godwit::wire
