// What one worker of a rank emits: open chunks, one per kind, priority and destination.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "godwit/detail/forward/chunk.hpp"
#include "godwit/items.hpp"

namespace godwit::forward {

using detail::Chunk;
using detail::Cursor;

// Used by one thread at a time. Where sealed chunks go is its owner's concern.
class Outbox {
 public:
  static constexpr std::uint64_t kMaxWorker = 4095;  // that a sequence has room for
  Outbox(std::span<const detail::ItemType> types, Rank ranks, std::size_t worker);

  [[nodiscard]] std::span<Cursor> cursors() noexcept { return cursors_; }

  // Closes the chunk of a slot and returns it, null if there is none with items in it. An empty one
  // stays where it is.
  [[nodiscard]] Chunk* seal(std::size_t slot, std::uint64_t round) noexcept;
  // Makes `chunk` the open one of a slot that has none.
  void open(std::size_t slot, Chunk* chunk) noexcept;
  // Gives the open chunk back, and what is in it is gone.
  void close(std::size_t slot) noexcept;

  // Of chunks that are sealed in the same pass, the next one's sequence is later than this.
  void count_from(std::uint64_t sequence) noexcept {
    sealed_ = std::max(sealed_, (sequence & kSealedMask) + 1);
  }
  [[nodiscard]] static std::size_t worker_of(std::uint64_t sequence) noexcept {
    return (sequence >> kWorkerShift) & kMaxWorker;
  }
  // From one pass of all workers over items to the next, all that any of them emits follows what
  // was sealed before; up to kMaxPass, from where on workers come one after another again.
  static constexpr std::uint64_t kMaxPass = 4095;
  void begin_next_pass() noexcept { pass_ = std::min(pass_ + 1, kMaxPass); }
  void begin_round() noexcept { pass_ = 0; }

  // Gives back whatever is open, items and all.
  void drop_all() noexcept;

  // Items in chunks that were sealed.
  [[nodiscard]] std::uint64_t emissions() const noexcept { return emissions_; }
  [[nodiscard]] std::uint64_t items_open() const noexcept;
  // How many items for a rank there are by now, open chunks included: to compare with later.
  [[nodiscard]] std::uint64_t emitted_to_by_now(Rank rank) const noexcept;
  void note_sent_back(Rank rank, std::uint64_t items) noexcept {
    sent_back_to_[static_cast<std::size_t>(rank)] += items;
  }
  void count_sent_back(std::span<std::uint64_t> sent_back_to) const noexcept;
  // Adds, by rank, what was emitted, items in open chunks included.
  void count(std::span<std::uint64_t> emitted_to) const noexcept;

 private:
  // A sequence is the pass, the worker, and how many chunks the worker has sealed before, ever.
  static constexpr unsigned kPassShift = 52;
  static constexpr unsigned kWorkerShift = 40;
  static constexpr std::uint64_t kSealedMask = (std::uint64_t{1} << kWorkerShift) - 1;

  [[nodiscard]] std::uint32_t items_in(const Cursor& cursor) const noexcept;

  std::span<const detail::ItemType> types_;
  Rank ranks_;
  std::uint64_t worker_;
  std::uint64_t pass_ = 0;
  std::uint64_t sealed_ = 0;
  std::vector<Cursor> cursors_;
  std::uint64_t emissions_ = 0;
  std::vector<std::uint64_t> emitted_to_;
  std::vector<std::uint64_t> sent_back_to_;
};

}  // namespace godwit::forward
