#include "ref/home/piece_checksums.hpp"

#include <cstring>

#include "base/random.hpp"
#include "ref/disk/checksum.hpp"

namespace godwit::ref {

std::uint64_t PieceChecksums::of(const Piece& piece, Bytes bytes) {
  std::uint64_t place = 0;
  std::memcpy(&place, piece.object.bytes.data(), sizeof place);
  place = mix64(place ^ mix64(piece.first ^ mix64(piece.version))) % kMax;
  {
    const std::lock_guard lock(mutex_);
    if (entries_ == nullptr) entries_ = std::make_unique<Entries>();
    const Entry& entry = (*entries_)[place];
    if (entry.piece == piece) return entry.checksum;
  }
  const std::uint64_t checksum = Checksum::of(bytes);
  const std::lock_guard lock(mutex_);
  (*entries_)[place] = {piece, checksum};
  return checksum;
}

}  // namespace godwit::ref
