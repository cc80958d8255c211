#include "fabric/shm/outbox.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace godwit::fabric::shm {
namespace {

static_assert(kMaxStreams < 32, "used_slots_ is a 32-bit set");

RecordWord word_for(RecordKind kind, std::size_t size, std::uint8_t slot = 0) {
  return {static_cast<std::uint32_t>(size), kind, slot};
}

}  // namespace

bool Outbox::add_small(const wire::Header& header, std::span<const Bytes> parts, std::size_t size) {
  Buffer body = Buffer::allocate(size);
  if (body.size() != size) return false;
  std::byte* to = body.data();
  for (const Bytes part : parts) to = std::copy(part.begin(), part.end(), to);
  small_.push_back({header, std::move(body)});
  return true;
}

void Outbox::add_stream(const wire::Header& header, std::span<const Bytes> parts, std::size_t size,
                        std::uint64_t tag) {
  Stream stream;
  stream.header = header;
  stream.parts.assign(parts.begin(), parts.end());
  stream.left = size;
  stream.tag = tag;
  waiting_.push_back(std::move(stream));
}

bool Outbox::can_write(RingProducer& ring) const {
  if (!small_.empty()) return ring.has_room(small_.front().body.size());
  return !is_empty() && ring.has_room(fragment_size_, reserve_);
}

std::size_t Outbox::pump(RingProducer& ring, std::size_t max_records,
                         std::vector<std::uint64_t>& sent) {
  std::size_t written = 0;
  while (written < max_records && !small_.empty() && pump_small(ring)) ++written;
  while (written < max_records && small_.empty() && pump_stream(ring, sent)) ++written;
  return written;
}

bool Outbox::pump_small(RingProducer& ring) {
  const Small& small = small_.front();
  if (!ring.has_room(small.body.size())) return false;
  const Bytes body = small.body.view();
  ring.write(small.header, {&body, 1}, word_for(RecordKind::message, body.size()));
  small_.pop_front();
  return true;
}

// Begins a stream, or sends one fragment of the stream whose turn it is.
bool Outbox::pump_stream(RingProducer& ring, std::vector<std::uint64_t>& sent) {
  if ((begun_.empty() && waiting_.empty()) || !ring.has_room(fragment_size_, reserve_))
    return false;
  if (!waiting_.empty() && begun_.size() < kMaxStreams) {
    begin_next(ring);
    return true;
  }
  Stream stream = std::move(begun_.front());
  begun_.pop_front();
  send_fragment(stream, ring);
  if (stream.left == 0) {
    used_slots_ &= ~(1U << stream.slot);
    sent.push_back(stream.tag);
  } else {
    begun_.push_back(std::move(stream));
  }
  return true;
}

void Outbox::begin_next(RingProducer& ring) {
  Stream stream = std::move(waiting_.front());
  waiting_.pop_front();
  stream.slot = static_cast<std::uint8_t>(std::countr_one(used_slots_));
  used_slots_ |= 1U << stream.slot;
  const Bytes size = bytes_of_value(stream.left);
  ring.write(stream.header, {&size, 1}, word_for(RecordKind::begin, size.size(), stream.slot));
  begun_.push_back(std::move(stream));
}

void Outbox::send_fragment(Stream& stream, RingProducer& ring) const {
  std::array<Bytes, kPartsPerFragment> pieces;
  std::size_t count = 0;
  std::size_t size = 0;
  while (count < kPartsPerFragment && size < fragment_size_ && stream.part < stream.parts.size()) {
    const Bytes rest = stream.parts[stream.part].subspan(stream.offset);
    const Bytes piece = rest.first(std::min(rest.size(), fragment_size_ - size));
    if (!piece.empty()) pieces[count++] = piece;
    size += piece.size();
    stream.offset += piece.size();
    if (piece.size() == rest.size()) {
      ++stream.part;
      stream.offset = 0;
    }
  }
  stream.left -= size;
  ring.write(stream.header, std::span(pieces).first(count),
             word_for(RecordKind::data, size, stream.slot));
}

}  // namespace godwit::fabric::shm
