// Checksums of what was read of large objects lately: many readers of one cost no more than one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/bytes.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// Any thread.
class PieceChecksums {
 public:
  // 16 GiB in pieces of 4 MiB. Each has one place, where a later one replaces it.
  static constexpr std::size_t kMax = 4096;

  struct Piece {
    ObjectId object;
    std::uint64_t version = 0;
    std::uint64_t first = 0;
    std::uint64_t size = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  // `bytes` are that piece. They are read unless the piece is known: a version never changes.
  [[nodiscard]] std::uint64_t of(const Piece& piece, Bytes bytes);

 private:
  struct Entry {
    Piece piece;
    std::uint64_t checksum = 0;
  };
  using Entries = std::array<Entry, kMax>;

  std::mutex mutex_;
  std::unique_ptr<Entries> entries_;  // from the first piece on
};

}  // namespace godwit::ref
