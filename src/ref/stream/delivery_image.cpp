#include "ref/stream/delivery_image.hpp"

#include <cstring>

#include "ref/home/answers.hpp"

namespace godwit::ref::stream {
namespace {

// Where the items begin and end. Within the image, whatever a peer has made of its index.
Bytes items_of(const Slice& slice) noexcept {
  const Item first = slice.item(0);
  const Item last = slice.item(slice.items - 1);
  const std::byte* const begin = first.bytes.data();
  const std::byte* const end = last.metadata.data() + last.metadata.size();
  if (begin == nullptr || end < begin) return {};
  return {begin, static_cast<std::size_t>(end - begin)};
}

std::size_t index_bytes(const Slice& slice) noexcept {
  return BatchView::aligned(BatchView::size_of_index(slice.items));
}

// The index of a batch of the slice's items alone.
void write_index(const Slice& slice, Bytes items, std::byte* to) noexcept {
  std::memset(to, 0, index_bytes(slice));
  const std::uint32_t count = slice.items;
  std::memcpy(to, &count, sizeof count);
  const auto place = [&](const std::byte* end) {
    return static_cast<std::uint32_t>(index_bytes(slice) +
                                      static_cast<std::size_t>(end - items.data()));
  };
  for (std::uint32_t i = 0; i < slice.items; ++i) {
    const Item item = slice.item(i);
    const BatchView::Entry entry{place(item.bytes.data() + item.bytes.size()),
                                 place(item.metadata.data() + item.metadata.size())};
    std::memcpy(to + BatchView::size_of_index(i), &entry, sizeof entry);
  }
}

// In an answer's tail: a batch of its own.
wire::StreamSlice alone(wire::StreamSlice slice, std::size_t bytes) noexcept {
  slice.index = 0;
  slice.batch_items = slice.items;
  slice.segment = 0;
  slice.offset = 0;
  slice.bytes = bytes;
  return slice;
}

}  // namespace

DeliveryImage::DeliveryImage(const Delivery& delivery) : delivery_(delivery) {
  slices_.reserve(delivery.slices.size());
  items_.reserve(delivery.slices.size());
  for (const Slice& slice : delivery.slices) {
    items_.push_back(items_of(slice));
    item_bytes_ += items_.back().size();
    slices_.push_back({.first = slice.first,
                       .items = slice.items,
                       .deliveries = slice.deliveries,
                       .index = slice.index,
                       .batch_items = slice.batch_items,
                       .segment = slice.segment,
                       .offset = slice.offset,
                       .bytes = slice.image.size()});
  }
}

bool DeliveryImage::write_to(Answers& answers, std::size_t lent_from) const {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const std::size_t bytes = index_bytes(delivery_.slices[i]) + items_[i].size();
    answers.append_more(bytes_of_value(alone(slices_[i], bytes)));
  }
  std::size_t written = slices_.size() * sizeof(wire::StreamSlice);
  bool lends = false;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = delivery_.slices[i];
    const Bytes items = items_[i];
    const std::size_t padding = wire::padded_tail(written) - written;
    std::byte* const index = answers.more_room(padding + index_bytes(slice)).data() + padding;
    write_index(slice, items, index);
    written += padding + index_bytes(slice) + items.size();
    if (items.size() < lent_from) {
      answers.append_more(items);
    } else {
      answers.lend(items);
      lends = true;
    }
  }
  return lends;
}

}  // namespace godwit::ref::stream
