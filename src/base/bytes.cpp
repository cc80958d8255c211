#include "base/bytes.hpp"

#include <new>
#include <utility>

#include "base/block_cache.hpp"
#include "base/buffer_shelf.hpp"

namespace godwit {
namespace {

constexpr std::size_t kAlignment = 64;
// Aligned here and not by operator new: malloc is several times slower when it is asked to align.
constexpr std::size_t kSlack = kAlignment - __STDCPP_DEFAULT_NEW_ALIGNMENT__;
// What the shelf does not serve.
constexpr std::size_t kLarge = BufferShelf::capacity(BufferShelf::kClasses - 1) - kSlack + 1;

void release_heap(void* memory, std::byte*, std::size_t) noexcept {
  ::operator delete(memory);
}

void release_shelved(void* memory, std::byte*, std::size_t size) noexcept {
  BufferShelf::release(memory, size + kSlack);
}

void release_block(void* block, std::byte*, std::size_t) noexcept {
  BlockCache::release(std::unique_ptr<BlockCache::Block>(static_cast<BlockCache::Block*>(block)));
}

}  // namespace

Buffer Buffer::allocate(std::size_t size) noexcept {
  if (size == 0) return {};
  if (size >= kLarge) {
    std::unique_ptr<BlockCache::Block> block = large_blocks().allocate(size);
    if (!block) return {};
    std::byte* const data = block->data;
    return adopt(data, size, block.release(), &release_block);
  }
  const bool shelved = BufferShelf::serves(size + kSlack);
  void* const memory =
      shelved ? BufferShelf::allocate(size + kSlack) : ::operator new(size + kSlack, std::nothrow);
  if (memory == nullptr) return {};
  const auto misaligned = reinterpret_cast<std::uintptr_t>(memory) % kAlignment;
  std::byte* const data = static_cast<std::byte*>(memory) + (kAlignment - misaligned) % kAlignment;
  return adopt(data, size, memory, shelved ? &release_shelved : &release_heap);
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
