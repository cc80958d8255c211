#include "base/buffer_shelf.hpp"

#include <new>

#include "base/sanitizers.hpp"

namespace godwit {
namespace {

// Buffers may be released by destructors that run after the shelf's own.
thread_local bool shelf_is_gone = false;

}  // namespace

BufferShelf* BufferShelf::mine() noexcept {
#ifdef GODWIT_ADDRESS_SANITIZER
  return nullptr;  // it finds uses after release only in memory that was really released
#else
  if (shelf_is_gone) return nullptr;
  thread_local BufferShelf shelf;
  return &shelf;
#endif
}

BufferShelf::~BufferShelf() {
  shelf_is_gone = true;
  for (std::size_t index = 0; index < kClasses; ++index) {
    while (counts_[index] > 0) ::operator delete(blocks_[index][--counts_[index]]);
  }
}

void* BufferShelf::allocate(std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  BufferShelf* const shelf = mine();
  if (shelf != nullptr && shelf->counts_[index] > 0) {
    return shelf->blocks_[index][--shelf->counts_[index]];
  }
#ifdef GODWIT_ADDRESS_SANITIZER
  return ::operator new(size, std::nothrow);
#else
  return ::operator new(capacity(index), std::nothrow);
#endif
}

void BufferShelf::release(void* memory, std::size_t size) noexcept {
  const std::size_t index = class_of(size);
  BufferShelf* const shelf = mine();
  if (shelf != nullptr && shelf->counts_[index] < kPerClass) {
    shelf->blocks_[index][shelf->counts_[index]++] = memory;
    return;
  }
  ::operator delete(memory);
}

std::size_t BufferShelf::kept() noexcept {
  const BufferShelf* const shelf = mine();
  std::size_t blocks = 0;
  if (shelf != nullptr) {
    for (const std::uint8_t count : shelf->counts_) blocks += count;
  }
  return blocks;
}

}  // namespace godwit
