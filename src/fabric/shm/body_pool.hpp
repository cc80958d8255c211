// Memory for large bodies, used again: touching fresh memory costs several times what copying into
// it does.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.hpp"

namespace godwit::fabric::shm {

// Buffers may be released by any thread and may outlive the pool's last user; allocate() is
// thread-safe too.
class BodyPool : public std::enable_shared_from_this<BodyPool> {
 public:
  // Keeps up to `max_kept` bytes of released buffers.
  [[nodiscard]] static std::shared_ptr<BodyPool> create(std::size_t max_kept);
  ~BodyPool();
  BodyPool(const BodyPool&) = delete;
  BodyPool& operator=(const BodyPool&) = delete;

  // Uninitialised; empty if there is no memory. Below kPooledSize the heap serves.
  static constexpr std::size_t kPooledSize = 2 * 1024 * 1024;
  [[nodiscard]] Buffer allocate(std::size_t size);
  [[nodiscard]] std::size_t kept() const;

 private:
  struct Block {
    std::byte* data = nullptr;  // aligned to a huge page
    std::size_t size = 0;
    std::byte* mapping = nullptr;
    std::size_t mapping_size = 0;
    std::shared_ptr<BodyPool> pool;  // while lent
  };

  explicit BodyPool(std::size_t max_kept) : max_kept_(max_kept) {}
  [[nodiscard]] static std::unique_ptr<Block> map(std::size_t size);
  static void unmap(const Block& block) noexcept;
  [[nodiscard]] std::unique_ptr<Block> take(std::size_t size);
  static void release(void* owner, std::byte* data, std::size_t size) noexcept;
  void give_back(std::unique_ptr<Block> block) noexcept;

  const std::size_t max_kept_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> free_;
  std::size_t kept_ = 0;
};

}  // namespace godwit::fabric::shm
