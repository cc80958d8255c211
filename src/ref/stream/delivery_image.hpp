// A delivery as it goes into an answer (wire/stream.hpp).
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.hpp"
#include "ref/stream/stream_store.hpp"
#include "wire/stream.hpp"

namespace godwit::ref {
class Answers;
}

namespace godwit::ref::stream {

// Of at least one slice; the delivery outlives it, and its memory is pinned meanwhile.
class DeliveryImage {
 public:
  explicit DeliveryImage(const Delivery& delivery);

  // Of the items, as they lie in their batches.
  [[nodiscard]] std::size_t item_bytes() const noexcept { return item_bytes_; }
  // Where each lies in the arena.
  [[nodiscard]] Bytes slices() const noexcept { return std::as_bytes(std::span(slices_)); }
  // All of it into the only answer, each slice a batch of its own. The items of a slice with less
  // than `lent_from` bytes of them are copied; the others stay where they are. True: there are
  // such.
  bool write_to(Answers& answers, std::size_t lent_from) const;

 private:
  const Delivery& delivery_;
  std::vector<wire::StreamSlice> slices_;
  std::vector<Bytes> items_;  // of each; as they were found: a peer may write to the index
  std::size_t item_bytes_ = 0;
};

}  // namespace godwit::ref::stream
