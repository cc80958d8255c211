// A batch of a stream's items in one block of memory, the same in the arena and on the wire:
//   u32 count, u32 0, count x { u32 end of the bytes, u32 end of the metadata }, the items
// Each item begins at a multiple of 16 bytes of the image: its bytes, so that they can be read
// where they lie, and its metadata behind them. The ends count from the image's beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "ref/arena/arena.hpp"

namespace godwit::ref::stream {

struct Item {
  Bytes bytes;
  Bytes metadata{};  // small: a key, or what filters look at
};

inline constexpr std::uint32_t kMaxBatchItems = 65'536;
inline constexpr std::size_t kMaxMetadataBytes = 4096;
inline constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 30;  // with the index

// Peers may be able to write to the memory: whatever the index says by now, nothing outside of the
// image is read. Costs nothing to make.
class BatchView {
 public:
  struct Entry {
    std::uint32_t bytes_end;
    std::uint32_t metadata_end;
  };
  static constexpr std::size_t kHeaderBytes = 8;
  static constexpr std::size_t kAlign = 16;

  [[nodiscard]] static constexpr std::size_t size_of_index(std::size_t items) noexcept {
    return kHeaderBytes + items * sizeof(Entry);
  }

  [[nodiscard]] static constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + kAlign - 1) / kAlign * kAlign;
  }

  // `items` as they were counted when the batch was checked.
  BatchView(Bytes image, std::uint32_t items) noexcept : image_(image), items_(items) {}

  [[nodiscard]] std::uint32_t items() const noexcept { return items_; }
  [[nodiscard]] Item item(std::uint32_t index) const noexcept;
  // Of the image up to item `index`.
  [[nodiscard]] std::uint64_t bytes_before(std::uint32_t index) const noexcept;

 private:
  [[nodiscard]] Entry entry(std::uint32_t index) const noexcept;

  Bytes image_;
  std::uint32_t items_;
};

// How many items the image has. Errors: bad_format (and where), too_large. Costs a look at each
// entry of the index.
[[nodiscard]] Result<std::uint32_t> check_batch(Bytes image);

// The image of those items; what it is written to has packed_size() bytes. Errors of packed_size():
// invalid_argument (no item), too_large (which limit).
[[nodiscard]] Result<std::size_t> packed_size(std::span<const Item> items);
void pack(std::span<const Item> items, MutableBytes image) noexcept;

// The index of an image whose items follow it, with ends as they are without one. Padded; it lies
// in `to`, whatever was there before.
[[nodiscard]] Bytes write_index(std::span<const BatchView::Entry> entries,
                                std::vector<std::byte>& to);

// A batch in an arena that is not part of a topic yet. The arena outlives it.
class Batch {
 public:
  // Errors: those of packed_size(), of check_batch() and of Arena::allocate().
  [[nodiscard]] static Result<Batch> pack(Arena& arena, std::span<const Item> items,
                                          Arena::Wait wait);
  [[nodiscard]] static Result<Batch> copy_of(Arena& arena, Bytes image, Arena::Wait wait);
  // An image that somebody has written into the arena. The extent is the batch's, unless that
  // fails.
  [[nodiscard]] static Result<Batch> adopt(Arena& arena, const Extent& extent, std::size_t size);

  Batch(Batch&& other) noexcept
      : arena_(other.arena_),
        extent_(std::exchange(other.extent_, {})),
        size_(other.size_),
        items_(other.items_) {}
  Batch& operator=(Batch&&) = delete;
  ~Batch();

  // False: it has become part of a topic.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(extent_); }
  [[nodiscard]] std::uint32_t items() const noexcept { return items_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // The caller frees it.
  [[nodiscard]] Extent take() noexcept { return std::exchange(extent_, {}); }

 private:
  Batch(Arena& arena, const Extent& extent, std::size_t size, std::uint32_t items) noexcept
      : arena_(arena), extent_(extent), size_(size), items_(items) {}

  Arena& arena_;
  Extent extent_;
  std::size_t size_;
  std::uint32_t items_;
};

}  // namespace godwit::ref::stream
