// Views of raw memory, and an owning buffer that transports and functions hand on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace godwit {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

[[nodiscard]] inline Bytes bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}
[[nodiscard]] inline std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Bytes bytes_of_value(const T& value) noexcept {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

// Move-only owner of a byte range, 64-byte aligned when it allocated the range itself. A transport
// may hand out one that owns something else (a UCX descriptor): the release function gives it back.
class Buffer {
 public:
  using Release = void (*)(void* owner, std::byte* data, std::size_t size) noexcept;

  Buffer() noexcept = default;
  // Uninitialised memory; null data() if the system is out of memory and size > 0. Beyond a
  // KiB it is memory used before, as far as some is kept (buffer_shelf.hpp, block_cache.hpp).
  [[nodiscard]] static Buffer allocate(std::size_t size) noexcept;
  [[nodiscard]] static Buffer copy_of(Bytes bytes) noexcept;
  [[nodiscard]] static Buffer adopt(std::byte* data, std::size_t size, void* owner,
                                    Release release) noexcept;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        owner_(std::exchange(other.owner_, nullptr)),
        release_(std::exchange(other.release_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { reset(); }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Bytes view() const noexcept { return {data_, size_}; }
  [[nodiscard]] MutableBytes mutable_view() noexcept { return {data_, size_}; }
  // Shortens the visible range; the memory behind it stays owned. new_size <= size().
  void truncate(std::size_t new_size) noexcept { size_ = new_size; }
  void reset() noexcept {
    if (release_ != nullptr) give_back();
  }

 private:
  void give_back() noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  void* owner_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace godwit
