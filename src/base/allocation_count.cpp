#include "base/allocation_count.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/sanitizers.hpp"

namespace godwit {
namespace {
std::atomic<std::uint64_t> count{0};
}  // namespace

std::uint64_t allocation_count() noexcept {
  return count.load(std::memory_order_relaxed);
}

#ifndef GODWIT_SANITIZED
namespace {

void* counted(std::size_t size, std::size_t alignment) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* counted_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = counted(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
#endif
}  // namespace godwit

#ifndef GODWIT_SANITIZED
using godwit::counted;
using godwit::counted_or_throw;

void* operator new(std::size_t size) {
  return counted_or_throw(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif
