// Elements by the range and by the list. Small ones are served on the polling thread; the functions
// named _bulk are the same ones on a worker.
#include <godwit/mobile/vector.hpp>

#include "shard.hpp"

namespace godwit::ops {
namespace {

using Data = std::span<const std::byte>;
using Offsets = std::span<const std::uint64_t>;

// Points into the shard itself: the reply is the only copy.
Data read_range(Here& here, ShardRef where, std::uint64_t offset, std::uint64_t count) {
  const LocalShard shard(here, where, GODWIT_REGION_READ);
  const std::byte* const from = shard.range(offset, count);
  return {from, count * shard.element_size()};
}

void write_range(Here& here, ShardRef where, std::uint64_t offset, Data elements) {
  const LocalShard shard(here, where, GODWIT_REGION_WRITE);
  const std::uint64_t count = elements.size() / shard.element_size();
  if (elements.size() % shard.element_size() != 0) {
    refuse(kTypeMismatch, "%zu bytes are no whole number of elements of %u", elements.size(),
           shard.element_size());
  }
  std::byte* const to = shard.range(offset, count);
  if (!elements.empty()) std::memcpy(to, elements.data(), elements.size());
}

std::vector<std::byte> read_list(Here& here, ShardRef where, Offsets offsets) {
  const LocalShard shard(here, where, GODWIT_REGION_READ);
  const std::uint32_t size = shard.element_size();
  std::vector<std::byte> found(offsets.size() * size);
  std::byte* to = found.data();
  for (const std::uint64_t offset : offsets) {
    copy_element(to, shard.range(offset, 1), size);
    to += size;
  }
  return found;
}

// All offsets are checked before the first element changes.
void write_list(Here& here, ShardRef where, Offsets offsets, Data elements) {
  const LocalShard shard(here, where, GODWIT_REGION_WRITE);
  const std::uint32_t size = shard.element_size();
  if (elements.size() != offsets.size() * size) {
    refuse(kTypeMismatch, "%zu places for %zu bytes of elements of %u", offsets.size(),
           elements.size(), size);
  }
  for (const std::uint64_t offset : offsets) static_cast<void>(shard.range(offset, 1));
  const std::byte* from = elements.data();
  for (const std::uint64_t offset : offsets) {
    copy_element(shard.range(offset, 1), from, size);
    from += size;
  }
}

}  // namespace

Data get(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
         std::uint64_t count) {
  return read_range(here, {region, shard}, offset, count);
}
GODWIT_EXPORT(get, inline_);

Data get_bulk(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
              std::uint64_t count) {
  return read_range(here, {region, shard}, offset, count);
}
GODWIT_EXPORT(get_bulk);

void put(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
         Data elements) {
  write_range(here, {region, shard}, offset, elements);
}
GODWIT_EXPORT(put, inline_);

void put_bulk(Here& here, std::uint64_t region, std::uint32_t shard, std::uint64_t offset,
              Data elements) {
  write_range(here, {region, shard}, offset, elements);
}
GODWIT_EXPORT(put_bulk);

std::vector<std::byte> gather(Here& here, std::uint64_t region, std::uint32_t shard,
                              Offsets offsets) {
  return read_list(here, {region, shard}, offsets);
}
GODWIT_EXPORT(gather, inline_);

std::vector<std::byte> gather_bulk(Here& here, std::uint64_t region, std::uint32_t shard,
                                   Offsets offsets) {
  return read_list(here, {region, shard}, offsets);
}
GODWIT_EXPORT(gather_bulk);

void scatter(Here& here, std::uint64_t region, std::uint32_t shard, Offsets offsets,
             Data elements) {
  write_list(here, {region, shard}, offsets, elements);
}
GODWIT_EXPORT(scatter, inline_);

void scatter_bulk(Here& here, std::uint64_t region, std::uint32_t shard, Offsets offsets,
                  Data elements) {
  write_list(here, {region, shard}, offsets, elements);
}
GODWIT_EXPORT(scatter_bulk);

}  // namespace godwit::ops
