#include "ref/stream/batch.hpp"

#include <algorithm>
#include <cstring>

#include "base/fail.hpp"

namespace godwit::ref::stream {
namespace {

void copy_to(std::byte*& to, Bytes bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  to += bytes.size();
}

}  // namespace

BatchView::Entry BatchView::entry(std::uint32_t index) const noexcept {
  Entry entry;
  std::memcpy(&entry, image_.data() + size_of_index(index), sizeof entry);
  return entry;
}

std::uint64_t BatchView::bytes_before(std::uint32_t index) const noexcept {
  return aligned(index == 0 ? size_of_index(items_) : entry(index - 1).metadata_end);
}

Item BatchView::item(std::uint32_t index) const noexcept {
  const Entry ends = entry(index);
  const std::size_t end = std::min<std::size_t>(ends.metadata_end, image_.size());
  const std::size_t begin = std::min<std::size_t>(bytes_before(index), end);
  const std::size_t middle = std::clamp<std::size_t>(ends.bytes_end, begin, end);
  return {.bytes = image_.subspan(begin, middle - begin),
          .metadata = image_.subspan(middle, end - middle)};
}

Result<std::uint32_t> check_batch(Bytes image) {
  if (image.size() > kMaxBatchBytes) {
    return fail(ErrorCode::too_large, "a batch of {} bytes is beyond {}: send several",
                image.size(), kMaxBatchBytes);
  }
  std::uint32_t head[2] = {};
  if (image.size() < sizeof head) {
    return fail(ErrorCode::bad_format, "a batch of {} bytes has no header: it is cut short",
                image.size());
  }
  std::memcpy(head, image.data(), sizeof head);
  const std::uint32_t items = head[0];
  if (items == 0 || items > kMaxBatchItems || head[1] != 0 ||
      image.size() < BatchView::size_of_index(items)) {
    return fail(ErrorCode::bad_format,
                "a batch of {} bytes says that it has {} items (1 to {} are possible): it is "
                "damaged",
                image.size(), items, kMaxBatchItems);
  }
  std::size_t end = BatchView::size_of_index(items);
  for (std::uint32_t i = 0; i < items; ++i) {
    BatchView::Entry entry;
    std::memcpy(&entry, image.data() + BatchView::size_of_index(i), sizeof entry);
    const std::size_t begin = BatchView::aligned(end);
    if (entry.bytes_end < begin || entry.metadata_end < entry.bytes_end ||
        entry.metadata_end - entry.bytes_end > kMaxMetadataBytes ||
        entry.metadata_end > image.size()) {
      return fail(ErrorCode::bad_format,
                  "item {} of a batch of {} ends at {} and {} of {} bytes, after {}: it is damaged",
                  i, items, entry.bytes_end, entry.metadata_end, image.size(), end);
    }
    end = entry.metadata_end;
  }
  if (end != image.size()) {
    return fail(ErrorCode::bad_format,
                "the items of a batch have {} of its {} bytes: it is damaged", end, image.size());
  }
  return items;
}

Result<std::size_t> packed_size(std::span<const Item> items) {
  if (items.empty()) {
    return fail(ErrorCode::invalid_argument, "a batch of no items: add at least one");
  }
  if (items.size() > kMaxBatchItems) {
    return fail(ErrorCode::too_large, "a batch of {} items is beyond {}: send several",
                items.size(), kMaxBatchItems);
  }
  std::size_t size = BatchView::size_of_index(items.size());
  for (const Item& item : items) {
    if (item.metadata.size() > kMaxMetadataBytes) {
      return fail(ErrorCode::too_large,
                  "an item has {} bytes of metadata, more than {}: make what is large part of the "
                  "item",
                  item.metadata.size(), kMaxMetadataBytes);
    }
    if (item.bytes.size() > kMaxBatchBytes) size = kMaxBatchBytes;
    size = BatchView::aligned(size) + item.bytes.size() + item.metadata.size();
    if (size <= kMaxBatchBytes) continue;
    return fail(ErrorCode::too_large,
                "a batch of {} items has more than {} bytes: send several, or references to what "
                "is large",
                items.size(), kMaxBatchBytes);
  }
  return size;
}

void pack(std::span<const Item> items, MutableBytes image) noexcept {
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(items.size()), 0};
  std::byte* entries = image.data();
  copy_to(entries, std::as_bytes(std::span(head)));
  std::byte* to = image.data() + BatchView::size_of_index(items.size());
  const auto place = [&] { return static_cast<std::size_t>(to - image.data()); };
  for (const Item& item : items) {
    BatchView::Entry entry;
    const std::size_t gap = BatchView::aligned(place()) - place();
    std::memset(to, 0, gap);
    to += gap;
    copy_to(to, item.bytes);
    entry.bytes_end = static_cast<std::uint32_t>(place());
    copy_to(to, item.metadata);
    entry.metadata_end = static_cast<std::uint32_t>(place());
    copy_to(entries, bytes_of_value(entry));
  }
}

Bytes write_index(std::span<const BatchView::Entry> entries, std::vector<std::byte>& to) {
  const std::size_t bytes = BatchView::aligned(BatchView::size_of_index(entries.size()));
  to.assign(bytes, std::byte{0});
  const auto count = static_cast<std::uint32_t>(entries.size());
  std::memcpy(to.data(), &count, sizeof count);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const BatchView::Entry entry{static_cast<std::uint32_t>(entries[i].bytes_end + bytes),
                                 static_cast<std::uint32_t>(entries[i].metadata_end + bytes)};
    std::memcpy(to.data() + BatchView::size_of_index(i), &entry, sizeof entry);
  }
  return to;
}

Result<Batch> Batch::pack(Arena& arena, std::span<const Item> items, Arena::Wait wait) {
  GODWIT_TRY(const std::size_t size, packed_size(items));
  GODWIT_TRY(const Extent extent, arena.allocate(size, wait));
  stream::pack(items, {extent.data, size});
  return Batch(arena, extent, size, static_cast<std::uint32_t>(items.size()));
}

Result<Batch> Batch::copy_of(Arena& arena, Bytes image, Arena::Wait wait) {
  GODWIT_TRY(const std::uint32_t items, check_batch(image));
  GODWIT_TRY(const Extent extent, arena.allocate(image.size(), wait));
  std::memcpy(extent.data, image.data(), image.size());
  return Batch(arena, extent, image.size(), items);
}

Result<Batch> Batch::adopt(Arena& arena, const Extent& extent, std::size_t size) {
  if (size > extent.capacity) {
    return fail(ErrorCode::invalid_argument, "a batch of {} bytes cannot be in room for {}", size,
                extent.capacity);
  }
  GODWIT_TRY(const std::uint32_t items, check_batch({extent.data, size}));
  return Batch(arena, extent, size, items);
}

Batch::~Batch() {
  if (extent_) arena_.free(extent_, Arena::Wait::no);
}

}  // namespace godwit::ref::stream
