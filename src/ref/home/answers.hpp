// The answer to a request about objects, while it is being written (wire/object.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "call/context.hpp"
#include "godwit/error.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

// Used again and again by one thread: it keeps its memory.
class Answers {
 public:
  void clear() noexcept;

  wire::ObjectAnswer& add(const wire::ObjectAnswer& fixed = {}) {
    return fixed_.emplace_back(fixed);
  }
  // The item that was added last.
  [[nodiscard]] wire::ObjectAnswer& last() { return fixed_.back(); }
  // Its tail.
  void append(Bytes bytes);
  void append(Bytes first, Bytes second);
  // Room in that tail.
  std::span<std::byte> append_room(std::size_t bytes);
  void append(const Handle& handle) { append(bytes_of_value(handle)); }
  [[nodiscard]] std::size_t tail_bytes() const noexcept { return tail_.size(); }
  // Takes the last item's tail back.
  void fail(const Error& error);
  // --- Of an answer with one item alone: its tail in several parts ---
  // Goes on with the tail; nothing is padded.
  void append_more(Bytes bytes);
  std::span<std::byte> more_room(std::size_t bytes);  // zeros
  // Goes on with memory of somebody else's, for as long as `keep()` says.
  void lend(Bytes bytes);
  void keep(std::shared_ptr<const void> lender) { lender_ = std::move(lender); }

  // Errors: too_large, out_of_memory.
  [[nodiscard]] Status write_to(call::ReplyBuffer& reply);

 private:
  std::vector<wire::ObjectAnswer> fixed_;
  std::vector<std::byte> tail_;  // padded behind each item
  std::size_t tail_start_ = 0;   // of the last item's
  std::vector<call::ReplyBuffer::Lent> lent_;
  std::size_t lent_bytes_ = 0;
  std::shared_ptr<const void> lender_;
};

}  // namespace godwit::ref
