#include "base/bytes.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace godwit {
namespace {

constexpr std::size_t kAlignment = 64;

void release_heap(void*, std::byte* data, std::size_t) noexcept {
  ::operator delete(data, std::align_val_t{kAlignment});
}

}  // namespace

Buffer Buffer::allocate(std::size_t size) noexcept {
  if (size == 0) return {};
  void* memory = ::operator new(size, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) return {};
  return adopt(static_cast<std::byte*>(memory), size, nullptr, &release_heap);
}

Buffer Buffer::copy_of(Bytes bytes) noexcept {
  Buffer copy = allocate(bytes.size());
  if (copy.data() != nullptr) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

Buffer Buffer::adopt(std::byte* data, std::size_t size, void* owner, Release release) noexcept {
  Buffer buffer;
  buffer.data_ = data;
  buffer.size_ = size;
  buffer.capacity_ = size;
  buffer.owner_ = owner;
  buffer.release_ = release;
  return buffer;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    reset();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    owner_ = std::exchange(other.owner_, nullptr);
    release_ = std::exchange(other.release_, nullptr);
  }
  return *this;
}

void Buffer::give_back() noexcept {
  release_(owner_, data_, capacity_);
  data_ = nullptr;
  size_ = 0;
  capacity_ = 0;
  owner_ = nullptr;
  release_ = nullptr;
}

}  // namespace godwit
