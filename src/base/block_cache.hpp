// Memory for large buffers, used again: touching fresh pages costs several times what copying into
// them does.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace godwit {

// Blocks of whole huge pages. Any thread allocates and releases; a call takes a lock for a moment
// and, when nothing kept fits, a mapping.
class BlockCache {
 public:
  using Clock = std::chrono::steady_clock;

  struct Block {
    std::byte* data = nullptr;  // aligned to kUnit
    std::size_t size = 0;       // a multiple of kUnit
    std::byte* mapping = nullptr;
    std::size_t mapping_size = 0;
    Clock::time_point released_at{};
    BlockCache* cache = nullptr;
  };

  static constexpr std::size_t kUnit = std::size_t{2} << 20;  // a huge page
  static constexpr std::size_t kDefaultMaxKept = std::size_t{256} << 20;

  // Keeps up to `max_kept` bytes of released blocks; beyond that the oldest go back to the system.
  explicit BlockCache(std::size_t max_kept = kDefaultMaxKept);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  // After the last block was released.
  ~BlockCache();

  // At least `size` bytes, uninitialised; null if there is no memory.
  [[nodiscard]] std::unique_ptr<Block> allocate(std::size_t size) noexcept;
  static void release(std::unique_ptr<Block> block) noexcept;

  // Gives kept blocks that nobody used for `age` back to the system. True: others are kept, or in
  // use and may be kept later, so that it is worth calling again.
  bool release_idle(Clock::duration age) noexcept;
  [[nodiscard]] std::size_t kept() const noexcept;

 private:
  [[nodiscard]] std::unique_ptr<Block> take(std::size_t size) noexcept;
  [[nodiscard]] static std::unique_ptr<Block> map(std::size_t size) noexcept;
  static void unmap(const Block& block) noexcept;
  void give_back(std::unique_ptr<Block> block) noexcept;
  void forget_oldest() noexcept;

  const std::size_t max_kept_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> free_;  // the longest unused first
  std::size_t kept_ = 0;
  std::size_t in_use_ = 0;  // blocks
};

// Where Buffer::allocate() gets large memory. One per process, as malloc is, and like it never
// destroyed: buffers may be released while the process exits.
[[nodiscard]] BlockCache& large_blocks() noexcept;

}  // namespace godwit
