#include "ref/stream/topic.hpp"

#include <algorithm>

namespace godwit::ref::stream {

std::uint64_t Topic::batch_at(std::uint64_t offset) const noexcept {
  const auto found = std::upper_bound(
      batches.begin(), batches.end(), offset,
      [](std::uint64_t wanted, const StoredBatch& batch) { return wanted < batch.range.end; });
  return first_batch + static_cast<std::uint64_t>(found - batches.begin());
}

Group* Topic::group_named(std::string_view wanted) noexcept {
  for (auto& [number, group] : groups) {
    if (group.name == wanted) return &group;
  }
  return nullptr;
}

std::uint64_t Topic::readable_from(std::uint64_t offset) const noexcept {
  const auto from = static_cast<std::ptrdiff_t>(batch_at(offset) - first_batch);
  const auto found =
      std::find_if(batches.begin() + from, batches.end(),
                   [](const StoredBatch& batch) { return static_cast<bool>(batch.extent); });
  return found == batches.end() ? end : std::max(offset, found->range.begin);
}

bool Topic::wants(const Group& group, std::uint64_t offset) noexcept {
  const std::uint64_t number = batch_at(offset);
  if (number == end_batch()) return false;
  const StoredBatch& stored = batch(number);
  if (!stored.extent || offset < stored.range.begin) return false;
  if (group.filter.accepts_all()) return true;
  const BatchView view({stored.extent.data, static_cast<std::size_t>(stored.size)},
                       static_cast<std::uint32_t>(stored.range.size()));
  return group.filter.accepts(offset,
                              view.item(static_cast<std::uint32_t>(offset - stored.range.begin)));
}

OffsetRange Topic::trim(const Group& group, OffsetRange range) noexcept {
  while (!range.empty() && !wants(group, range.begin)) ++range.begin;
  while (!range.empty() && !wants(group, range.end - 1)) --range.end;
  return range;
}

}  // namespace godwit::ref::stream
