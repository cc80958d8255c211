// Memory for large buffers, used again: touching fresh pages costs several times what copying into
// them does, and malloc gives freed memory of this size back to the system as soon as it can.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace godwit {

// Any thread allocates and releases; a call takes a lock for a moment and, when nothing kept fits,
// new memory: in huge pages from kHugePage on.
class BlockCache {
 public:
  using Clock = std::chrono::steady_clock;

  struct Block {
    std::byte* data = nullptr;  // aligned to a cache line, or a huge page
    std::size_t size = 0;       // a multiple of kSmallUnit, or of a huge page
    void* memory = nullptr;     // from operator new, or a mapping
    std::size_t mapping_size = 0;
    Clock::time_point released_at{};
    BlockCache* cache = nullptr;
  };

  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kSmallUnit = std::size_t{32} << 10;
  static constexpr std::size_t kDefaultMaxKept = std::size_t{256} << 20;
  static constexpr std::size_t kMaxKeptBlocks = 256;

  // Keeps up to `max_kept` bytes in kMaxKeptBlocks released blocks; beyond that the oldest go back
  // to the system.
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
  [[nodiscard]] static std::unique_ptr<Block> make(std::size_t size) noexcept;
  [[nodiscard]] static bool map(Block& block, std::size_t size) noexcept;
  static void unmake(const Block& block) noexcept;
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
