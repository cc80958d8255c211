#include "ref/stream/item_draft.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/fail.hpp"
#include "ref/stream/broker.hpp"

namespace godwit::ref::stream {

// Written when it is sent: whoever has the item's memory might have written beyond its ends by
// accident, and the home refuses an image whose index is damaged.
Draft& ItemDraft::finish_image() {
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

Result<std::optional<Draft>> TopicOut::room_for(std::size_t) {
  return std::optional<Draft>();
}

Status TopicOut::append_draft(std::uint64_t, Draft&, std::chrono::nanoseconds) {
  return fail(ErrorCode::unsupported, "topic '{}' is kept where this process cannot write",
              topic());
}

}  // namespace godwit::ref::stream
