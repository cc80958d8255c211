// Chunks of a GPU's memory that ranks of this process on other GPUs copy from where they lie.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "godwit/detail/forward/chunk.hpp"

namespace godwit::cuda {

// Keeps the memory until all chunks are back, whoever has them when its owner is gone.
class Lender final : public godwit::detail::ChunkHome {
 public:
  using Memory = std::vector<std::shared_ptr<const void>>;
  explicit Lender(Memory memory) : memory_(std::move(memory)) {}
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  // The owner is done.
  void retire() noexcept;
  struct Retire {
    void operator()(Lender* lender) const noexcept { lender->retire(); }
  };

  // A chunk whose items lie at `items`; they stay as they are until await_all().
  [[nodiscard]] godwit::detail::Chunk* lend(std::byte* items);
  // Any thread.
  void give_back(godwit::detail::Chunk* chunk) noexcept override;
  // Whether all come back within a while.
  [[nodiscard]] bool await_all(std::chrono::milliseconds patience);

 private:
  ~Lender() = default;

  const Memory memory_;
  std::mutex mutex_;
  std::condition_variable back_;
  std::vector<std::unique_ptr<godwit::detail::Chunk>> chunks_;  // made, ever
  std::vector<godwit::detail::Chunk*> spare_;
  std::size_t lent_ = 0;
  bool is_retired_ = false;
};

}  // namespace godwit::cuda
