#include "fabric/relay/sealed_stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "base/parts.hpp"

namespace godwit::fabric::relay {
namespace {

using trust::Seal;

constexpr std::uint32_t kSizeMask = 0xFF'FFFF;
constexpr std::size_t kLargestRecord =
    SealedStream::kHeadSize + SealedStream::kMaxText + Seal::kTagSize;
constexpr std::size_t kFirstInput = 4096;
constexpr std::size_t kLargestInput = 2 * kLargestRecord;

using Head = std::array<std::byte, SealedStream::kHeadSize>;

Head head_of(RecordKind kind, std::uint32_t stream, std::size_t sealed_size) {
  const std::uint32_t word =
      static_cast<std::uint32_t>(sealed_size) | static_cast<std::uint32_t>(kind) << 24;
  Head head;
  std::memcpy(head.data(), &word, sizeof word);
  std::memcpy(head.data() + sizeof word, &stream, sizeof stream);
  return head;
}

}  // namespace

SealedStream::SealedStream(Fd socket, Seal out, Seal in, Bytes input)
    : socket_(std::move(socket)), sealer_(std::move(out)), opener_(std::move(in)) {
  if (input.empty()) return;
  std::memcpy(in_.room(input.size()).data(), input.data(), input.size());
  in_.commit(input.size());
}

Status SealedStream::put(RecordKind kind, std::uint32_t stream, std::span<const Bytes> parts) {
  const std::size_t size = Seal::kTagSize + total_size(parts);
  if (size > kMaxText + Seal::kTagSize) {
    return fail(ErrorCode::internal, "a record of {} bytes exceeds the limit of {}", size,
                kMaxText);
  }
  const Head head = head_of(kind, stream, size);
  const MutableBytes room = out_.room(kHeadSize + size).first(kHeadSize + size);
  std::memcpy(room.data(), head.data(), kHeadSize);
  GODWIT_CHECK(sealer_.seal(head, parts, room.subspan(kHeadSize)));
  out_.commit(room.size());
  return {};
}

Result<SealedStream::Moved> SealedStream::write() {
  Moved moved = Moved::none;
  while (!out_.empty()) {
    const Bytes waiting = out_.view();
    const ssize_t sent =
        ::send(socket_.get(), waiting.data(), waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return moved;
    if (sent < 0) return fail(ErrorCode::link_lost, "{}", errno_text(errno));
    out_.consume(static_cast<std::size_t>(sent));
    moved = Moved::some;
  }
  return moved;
}

// The buffer grows to what the link is used for: most links see small messages only.
Result<SealedStream::Moved> SealedStream::read() {
  const bool grows = std::exchange(filled_, false) && in_.capacity() < kLargestInput;
  const std::size_t target =
      grows ? std::min(4 * in_.capacity(), kLargestInput) : std::max(in_.capacity(), kFirstInput);
  // Half of it at once, or whatever is free: what is left of a record moves to the front for that.
  const std::size_t wanted =
      grows ? target - in_.size() : std::min(target / 2, target - in_.size());
  const MutableBytes room = in_.room(wanted);
  const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Moved::none;
  if (got < 0) return fail(ErrorCode::link_lost, "{}", errno_text(errno));
  if (got == 0) return Moved::ended;
  in_.commit(static_cast<std::size_t>(got));
  filled_ = static_cast<std::size_t>(got) == room.size();
  return Moved::some;
}

Result<std::optional<SealedStream::Record>> SealedStream::next() const {
  const Bytes here = in_.view();
  if (here.size() < kHeadSize) return std::optional<Record>();
  std::uint32_t word = 0;
  Record record;
  std::memcpy(&word, here.data(), sizeof word);
  std::memcpy(&record.stream, here.data() + sizeof word, sizeof record.stream);
  const std::size_t size = word & kSizeMask;
  if (size < Seal::kTagSize || size > kMaxText + Seal::kTagSize ||
      word >> 24 > static_cast<std::uint32_t>(RecordKind::hello)) {
    return fail(ErrorCode::protocol_violation, "a record's head makes no sense");
  }
  if (here.size() < kHeadSize + size) return std::optional<Record>();
  record.kind = static_cast<RecordKind>(word >> 24);
  record.text_size = size - Seal::kTagSize;
  return std::optional(record);
}

Status SealedStream::open(const Record& record, MutableBytes room) {
  const std::size_t size = record.text_size + Seal::kTagSize;
  const Bytes here = in_.view();
  GODWIT_CHECK(opener_.open(here.first(kHeadSize), here.subspan(kHeadSize, size),
                            room.first(record.text_size)));
  in_.consume(kHeadSize + size);
  return {};
}

}  // namespace godwit::fabric::relay
