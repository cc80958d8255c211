#include "ops/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::ops {
namespace {

// Whole if the size allows, as mobile/shard.hpp copies them.
void copy_element(std::byte* to, const std::byte* from, std::uint32_t size) noexcept {
  const auto whole = [&]<class Word>(Word value) {
    __atomic_load(reinterpret_cast<const Word*>(from), &value, __ATOMIC_RELAXED);
    std::memcpy(to, &value, sizeof value);
  };
  switch (size) {
    case 1: return whole(std::uint8_t{});
    case 2: return whole(std::uint16_t{});
    case 4: return whole(std::uint32_t{});
    case 8: return whole(std::uint64_t{});
    default: std::memcpy(to, from, size);
  }
}

}  // namespace

// Sorts the elements by shard, if all of them exist.
bool Transfer::prepare(const char* verb, const Selection& selection, std::size_t bytes) {
  verb_ = verb;
  selection_ = selection;
  const std::uint32_t size = region_->element_size();
  if (selection.count > bytes / size || selection.count * size != bytes) {
    begun_ = tl::unexpected(Failure{
        Ending::rejected, ErrorCode::invalid_argument, false,
        fmt::format("{} of {} elements of region '{}': {} bytes are not so many of {} bytes each",
                    verb, selection.count, region_->name(), bytes, size)});
    return false;
  }
  if (!selection.is_list) {
    begun_ = region_->check(verb, selection.first, selection.count);
    if (!begun_) return false;
    for (Piece& piece : split_range(region_->map(), selection.first, selection.count)) {
      parts_.push_back({.piece = std::move(piece), .first = selection.first});
    }
    return true;
  }
  for (const std::uint64_t index : selection.indices) {
    begun_ = region_->check(verb, index, 1);
    if (!begun_) return false;
  }
  for (Piece& piece : split_list(region_->map(), selection.indices)) {
    const std::uint64_t index = selection.indices[piece.positions.front()];
    parts_.push_back({.piece = std::move(piece), .first = index});
  }
  return true;
}

void Transfer::read(const Selection& selection, MutableBytes to, bool directly) {
  is_read_ = true;
  to_ = to;
  if (!prepare(selection.is_list ? "gather" : "get", selection, to.size())) return;
  for (Part& part : parts_) {
    const auto& mapped = region_->shards()[part.piece.shard].mapped;
    if (mapped != nullptr && directly) continue;
    ask(part);
    check_started(part);
  }
  for (Part& part : parts_) {
    const auto& mapped = region_->shards()[part.piece.shard].mapped;
    if (mapped == nullptr || !directly) continue;
    if (!begun_) return;
    begun_ = copy_mapped(*mapped, part);
  }
}

Outcome<void> Transfer::copy_mapped(const region::MappedShard& shard, const Part& part) {
  const Piece& piece = part.piece;
  const std::uint32_t size = region_->element_size();
  for_each_run(
      region_->map(), piece, [&](std::uint64_t place, std::uint64_t position, std::uint64_t count) {
        const std::uint64_t offset = piece.is_list() ? piece.offsets[place] : piece.offset + place;
        std::byte* const to = to_.data() + position * size;
        const std::byte* const from = shard.data() + offset * size;
        if (count == 1) {
          copy_element(to, from, size);
        } else {
          std::memcpy(to, from, count * size);
        }
      });
  if (!shard.is_good()) return tl::unexpected(region_->why_not_good(note_of(part)));
  return {};
}

void Transfer::ask(Part& part) {
  const Piece& piece = part.piece;
  const Note note = note_of(part);
  const bool small = bytes_of_piece(piece) <= kInlineBytes;
  if (piece.is_list()) {
    const Op op = small && piece.count <= kInlineListed ? Op::gather : Op::gather_bulk;
    part.call = region_->call(op, note, region_->id(), piece.shard,
                              std::span<const std::uint64_t>(piece.offsets));
    return;
  }
  part.call = region_->call(small ? Op::get : Op::get_bulk, note, region_->id(), piece.shard,
                            piece.offset, piece.count);
}

void Transfer::write(const Selection& selection, Bytes from) {
  if (!prepare(selection.is_list ? "scatter" : "put", selection, from.size())) return;
  for (Part& part : parts_) {
    send(part, from);
    check_started(part);
  }
}

void Transfer::add(std::span<const std::uint64_t> indices, Bytes from, Number number) {
  added_ = number;
  if (!prepare("scatter_add", Selection::list(indices), from.size())) return;
  for (Part& part : parts_) {
    send(part, from);
    check_started(part);
  }
}

void Transfer::send(Part& part, Bytes from) {
  const Piece& piece = part.piece;
  const std::uint32_t size = region_->element_size();
  Bytes elements;
  std::size_t runs = 0;
  for_each_run(region_->map(), piece,
               [&](std::uint64_t, std::uint64_t position, std::uint64_t count) {
                 elements = from.subspan(position * size, count * size);
                 ++runs;
               });
  if (runs != 1) {
    part.staged.resize(bytes_of_piece(piece));
    for_each_run(region_->map(), piece,
                 [&](std::uint64_t place, std::uint64_t position, std::uint64_t count) {
                   std::memcpy(part.staged.data() + place * size, from.data() + position * size,
                               count * size);
                 });
    elements = part.staged;
  }
  const Note note = note_of(part);
  const bool small = bytes_of_piece(piece) <= kInlineBytes;
  if (added_) {
    const bool brief = small && piece.count <= kInlineListed;
    part.call = region_->call(brief ? Op::scatter_add : Op::scatter_add_bulk, note, region_->id(),
                              piece.shard, static_cast<std::uint32_t>(*added_),
                              std::span<const std::uint64_t>(piece.offsets), elements);
    return;
  }
  if (piece.is_list()) {
    const Op op = small && piece.count <= kInlineListed ? Op::scatter : Op::scatter_bulk;
    part.call = region_->call(op, note, region_->id(), piece.shard,
                              std::span<const std::uint64_t>(piece.offsets), elements);
    return;
  }
  part.call = region_->call(small ? Op::put : Op::put_bulk, note, region_->id(), piece.shard,
                            piece.offset, elements);
}

void Transfer::check_started(const Part& part) {
  if (!part.call && begun_) begun_ = tl::unexpected(part.call.failure());
}

Note Transfer::note_of(const Part& part) const {
  const std::uint64_t count = selection_.is_list ? part.piece.count : selection_.count;
  return region_->note(verb_, part.first, count, part.piece.shard);
}

detail::CallHandle Transfer::next() {
  while (next_ < parts_.size()) {
    Part& part = parts_[next_++];
    if (part.call) return std::move(part.call);
  }
  return {};
}

detail::CallHandle Transfer::only_call() {
  if (!begun_ || parts_.size() != 1 || !parts_[0].call) return {};
  const Part& part = parts_[0];
  if (!part.staged.empty() || part.piece.is_list()) return {};
  return next();
}

Outcome<void> Transfer::take(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  if (!is_read_) return {};
  const Part& part = parts_[next_ - 1];
  const Piece& piece = part.piece;
  const std::uint32_t size = region_->element_size();
  Bytes elements;
  DecodeError error;
  if (!decode_result(call.result(), elements, error) || elements.size() != bytes_of_piece(piece)) {
    return tl::unexpected(
        Failure{Ending::rejected, ErrorCode::bad_format, true,
                fmt::format("{}: the home of shard {} sent {} bytes in place of {}",
                            subject_of(note_of(part)), piece.shard, elements.size(),
                            bytes_of_piece(piece))});
  }
  for_each_run(
      region_->map(), piece, [&](std::uint64_t place, std::uint64_t position, std::uint64_t count) {
        std::memcpy(to_.data() + position * size, elements.data() + place * size, count * size);
      });
  return {};
}

Outcome<void> Transfer::finish() {
  Outcome<void> done = begun_;
  while (done) {
    detail::CallHandle call = next();
    if (!call) break;
    call.wait();
    done = take(std::move(call));
  }
  return done;
}

}  // namespace godwit::ops
