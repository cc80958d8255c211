#include "ref/stream/item_draft.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace godwit::ref::stream {

// Written once, before it is sent for the first time: if the answer to that is lost, the memory may
// be somebody else's by the second. What the program damages the home refuses.
Draft& ItemDraft::image() {
  if (std::exchange(finished_, true)) return *room_;
  const BatchView::Entry entry{static_cast<std::uint32_t>(bytes_),
                               static_cast<std::uint32_t>(bytes_ + key_.size())};
  std::vector<std::byte> memory;
  const Bytes index = write_index({&entry, 1}, memory);
  const MutableBytes image = room_->bytes();
  std::memcpy(image.data(), index.data(), index.size());
  if (!key_.empty()) {
    std::memcpy(image.data() + kIndexBytes + bytes_, key_.data(), key_.size());
  }
  return *room_;
}

}  // namespace godwit::ref::stream
