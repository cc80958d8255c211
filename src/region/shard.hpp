// The memory of one shard at its home.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "fabric/fd.hpp"
#include "fabric/memory/segment.hpp"
#include "region/budget.hpp"
#include "wire/region.hpp"

namespace godwit::region {

// Made by a ShardStore. Whoever holds one may use its memory, also after it was dropped; the memory
// goes back to the system, and its bytes to the budget, with the last holder. Any thread.
class Shard {
 public:
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Never moves.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t elements() const noexcept {
    return elements_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint32_t element_size() const noexcept { return element_size_; }
  [[nodiscard]] bool in_file() const noexcept { return !file_.empty(); }
  // What it costs the budget; 0 for a file, whose pages the system can take back.
  [[nodiscard]] std::uint64_t budget_bytes() const noexcept {
    return budget_bytes_.load(std::memory_order_relaxed);
  }

  // From then on it has so many elements; fewer than it has is no change. Errors:
  // resource_exhausted (the budget, or the disk), io.
  [[nodiscard]] Status grow(std::uint64_t elements);
  // Whoever mapped it sees it with the next look. A file is deleted when its shard is dropped.
  void set_state(wire::RegionState state);
  // Its region could not be made everywhere: dropped, but a file that was there before stays.
  void undo();

  // What another process of this host needs to map it. Errors: unsupported (it lies in a file),
  // resource_exhausted.
  struct Shared {
    fabric::Fd memory;
    wire::RegionGrant grant;
  };
  [[nodiscard]] Result<Shared> share() const;

 private:
  friend class ShardStore;
  Shard() = default;

  std::uint64_t region_ = 0;
  std::string name_;  // of the region, for messages
  std::uint32_t number_ = 0;
  std::uint32_t element_size_ = 0;
  std::string file_;    // empty: in memory
  bool found_ = false;  // the file was there before
  std::shared_ptr<Budget> budget_;

  mutable std::mutex mutex_;  // guards segment_, but not its data
  fabric::Segment segment_;
  std::byte* data_ = nullptr;
  std::size_t data_offset_ = 0;  // of data_ in the segment
  std::atomic<std::uint64_t> elements_{0};
  std::atomic<std::uint64_t> budget_bytes_{0};
};

}  // namespace godwit::region
