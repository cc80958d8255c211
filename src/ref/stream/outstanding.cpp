#include "ref/stream/outstanding.hpp"

#include <algorithm>
#include <iterator>

namespace godwit::ref::stream {

void Outstanding::add(const Piece& piece) {
  if (piece.range.empty()) return;
  pieces_.emplace(piece.range.begin, piece);
  if (piece.lease == kNobody) returned_.insert(piece.range.begin);
  items_ += piece.range.size();
}

void Outstanding::remove(const Piece& piece) {
  returned_.erase(piece.range.begin);
  items_ -= piece.range.size();
  pieces_.erase(piece.range.begin);
}

std::optional<Outstanding::Piece> Outstanding::first_returned() const {
  if (returned_.empty()) return std::nullopt;
  return pieces_.at(*returned_.begin());
}

Outstanding::Pieces::const_iterator Outstanding::find(std::uint64_t offset) const {
  auto place = pieces_.upper_bound(offset);
  if (place == pieces_.begin()) return place;
  const auto before = std::prev(place);
  return before->second.range.end > offset ? before : place;
}

void Outstanding::ack(OffsetRange range, std::uint64_t lease, const Trim& trim,
                      const OnRemoved& removed) {
  std::uint64_t at = range.begin;
  for (auto place = find(at); place != pieces_.end() && place->first < range.end;
       place = find(at)) {
    const Piece piece = place->second;
    at = piece.range.end;
    if (piece.lease != lease && piece.lease != kNobody) continue;
    remove(piece);
    Piece left = piece;
    Piece right = piece;
    left.range = trim({piece.range.begin, std::max(range.begin, piece.range.begin)});
    right.range = trim({std::min(range.end, piece.range.end), piece.range.end});
    add(left);
    add(right);
    removed({left.range.empty() ? piece.range.begin : left.range.end,
             right.range.empty() ? piece.range.end : right.range.begin});
  }
}

std::size_t Outstanding::give_back(OffsetRange range, std::uint64_t lease) {
  std::size_t count = 0;
  for (auto place = pieces_.lower_bound(range.begin);
       place != pieces_.end() && place->first < range.end; ++place) {
    if (place->second.lease != lease) continue;
    place->second.lease = kNobody;
    returned_.insert(place->first);
    ++count;
  }
  return count;
}

bool Outstanding::has(OffsetRange range, std::uint64_t lease) const {
  for (auto place = find(range.begin); place != pieces_.end() && place->first < range.end;
       ++place) {
    if (place->second.lease == lease) return true;
  }
  return false;
}

void Outstanding::clear() {
  pieces_.clear();
  returned_.clear();
  items_ = 0;
}

std::optional<std::uint64_t> Outstanding::first() const {
  if (pieces_.empty()) return std::nullopt;
  return pieces_.begin()->first;
}

}  // namespace godwit::ref::stream
