// Memory of a few KiB, kept by the thread that released it for its next buffer: malloc takes
// several times as long for these sizes as for smaller ones, and a call of 4 KiB asks four times.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace godwit {

// One per thread; no other thread touches it. What it keeps is bounded: kPerClass blocks of each
// class, 264 KiB.
class BufferShelf {
 public:
  static constexpr std::size_t kSmallest = 1025;  // below, malloc is quick
  static constexpr std::size_t kClasses = 6;
  static constexpr std::size_t kPerClass = 4;
  // Powers of two and some bytes: most bodies are a round number and a header.
  [[nodiscard]] static constexpr std::size_t capacity(std::size_t index) noexcept {
    return (std::size_t{1024} << index) + 256;
  }
  [[nodiscard]] static constexpr bool serves(std::size_t size) noexcept {
    return size >= kSmallest && size <= capacity(kClasses - 1);
  }

  // Uninitialised memory with room for `size` bytes, aligned as operator new does; null if there is
  // none. serves(size).
  [[nodiscard]] static void* allocate(std::size_t size) noexcept;
  // By any thread, with the same size.
  static void release(void* memory, std::size_t size) noexcept;
  // Blocks that the calling thread keeps.
  [[nodiscard]] static std::size_t kept() noexcept;

  ~BufferShelf();

 private:
  [[nodiscard]] static constexpr std::size_t class_of(std::size_t size) noexcept {
    return size <= capacity(0) ? 0 : static_cast<std::size_t>(std::bit_width((size - 257) / 1024));
  }
  [[nodiscard]] static BufferShelf* mine() noexcept;

  std::array<std::array<void*, kPerClass>, kClasses> blocks_{};
  std::array<std::uint8_t, kClasses> counts_{};
};

}  // namespace godwit
