// Bytes that are added at one end and leave at the other, in one piece of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bytes.hpp"

namespace godwit::fabric::relay {

// What grew for a slow peer is given back once it is empty. Its owner bounds it.
class ByteQueue {
 public:
  static constexpr std::size_t kKept = std::size_t{512} << 10;

  [[nodiscard]] Bytes view() const noexcept { return {memory_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  // At least `size` uninitialised bytes behind the last, and all there are beyond that.
  [[nodiscard]] MutableBytes room(std::size_t size) {
    if (capacity_ - end_ < size) make_room(size);
    return {memory_.get() + end_, capacity_ - end_};
  }
  // The first `size` of that room were written.
  void commit(std::size_t size) noexcept { end_ += size; }
  void consume(std::size_t size) noexcept {
    begin_ += size;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    if (capacity_ > kKept) {
      memory_.reset();
      capacity_ = 0;
    }
  }

 private:
  void make_room(std::size_t size) {
    const std::size_t used = end_ - begin_;
    if (capacity_ - used < size) {
      const std::size_t grown = std::max(used + size, 2 * capacity_);
      auto memory = std::make_unique_for_overwrite<std::byte[]>(grown);
      if (used != 0) std::memcpy(memory.get(), memory_.get() + begin_, used);
      memory_ = std::move(memory);
      capacity_ = grown;
    } else if (used != 0) {
      std::memmove(memory_.get(), memory_.get() + begin_, used);
    }
    begin_ = 0;
    end_ = used;
  }

  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace godwit::fabric::relay
