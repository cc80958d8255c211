// Chunks: large bodies between the memory of two processes, in pieces, on a control socket.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fail.hpp"
#include "fabric/control/socket.hpp"

namespace godwit::fabric {
namespace {

std::uint32_t marked(std::uint8_t mark, std::size_t size) {
  return static_cast<std::uint32_t>(size) | std::uint32_t{mark} << 24;
}

}  // namespace

void ControlSocket::send_chunk(std::uint64_t stream, std::span<const Bytes> parts, Bytes notice) {
  if (state_ != State::open) return;
  ChunkOut& chunk = chunk_out_;
  chunk.count = 1;
  std::size_t size = 0;
  for (const Bytes part : parts) {
    if (part.empty()) continue;
    chunk.pieces[chunk.count++] = part;
    size += part.size();
  }
  std::size_t header_size = 0;
  const auto add = [&](Bytes bytes) {
    std::memcpy(chunk.header.data() + header_size, bytes.data(), bytes.size());
    header_size += bytes.size();
  };
  if (!notice.empty()) {
    add(bytes_of_value(marked(kNoticeMark, notice.size())));
    add(notice);
  }
  add(bytes_of_value(marked(kChunkMark, size)));
  add(bytes_of_value(stream));
  chunk.pieces[0] = Bytes(chunk.header).first(header_size);
  chunk.first = 0;
  chunk.left = header_size + size;
  chunk.begun = false;
  flush();
}

// Returns an errno value.
int ControlSocket::write_chunk() {
  ChunkOut& chunk = chunk_out_;
  std::array<iovec, kMaxChunkParts + 1> vector;
  const std::size_t count = chunk.count - chunk.first;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes piece = chunk.pieces[chunk.first + i];
    // The kernel's vectors serve reading and writing alike; this one is only read.
    vector[i] = {.iov_base = const_cast<std::byte*>(piece.data()), .iov_len = piece.size()};
  }
  msghdr message{};
  message.msg_iov = vector.data();
  message.msg_iovlen = count;
  const ssize_t written = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (written < 0) return errno == EINTR ? 0 : errno == EWOULDBLOCK ? EAGAIN : errno;
  last_sent_ = reactor_.now();
  chunk.begun = true;
  auto sent = static_cast<std::size_t>(written);
  chunk.left -= sent;
  while (sent > 0) {
    Bytes& piece = chunk.pieces[chunk.first];
    const std::size_t done = std::min(sent, piece.size());
    piece = piece.subspan(done);
    sent -= done;
    if (piece.empty()) ++chunk.first;
  }
  if (chunk.left == 0) chunk.begun = false;
  return 0;
}

bool ControlSocket::move_chunks(bool reads) {
  if (state_ != State::open) return false;
  const auto alive = alive_;
  const Time sent_before = last_sent_;
  const Time heard_before = last_heard_;
  if (chunk_is_going_out()) flush();
  if (reads && state_ == State::open) read_some();
  return !*alive || last_sent_ != sent_before || last_heard_ != heard_before;
}

// The rest of the chunk, and what comes behind it into the input. As receive_bytes().
int ControlSocket::receive_chunk(std::size_t& received) {
  std::array<iovec, 2> vector;
  vector[0] = {.iov_base = chunk_in_.room.data(), .iov_len = chunk_in_.room.size()};
  vector[1] = {.iov_base = input_.data(), .iov_len = input_.size()};
  msghdr message{};
  message.msg_iov = vector.data();
  message.msg_iovlen = vector.size();
  const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  if (got < 0) return errno == EINTR || errno == EWOULDBLOCK ? EAGAIN : errno;
  received = static_cast<std::size_t>(got);
  const std::size_t mine = std::min(received, chunk_in_.room.size());
  input_size_ = received - mine;
  take_chunk_bytes(mine);
  return 0;
}

// A chunk's word is at the front of the input. False: not all of its header is here, or the socket
// ended.
bool ControlSocket::begin_chunk(std::size_t size) {
  if (input_size_ < kChunkHeaderSize) return false;
  std::memcpy(&chunk_in_.stream, input_.data() + kWordSize, sizeof chunk_in_.stream);
  chunk_in_.room = size > 0 && size <= kMaxChunkSize ? events_->on_chunk(chunk_in_.stream, size)
                                                     : MutableBytes{};
  if (chunk_in_.room.empty() || chunk_in_.room.size() != size) {
    end({ErrorCode::protocol_violation,
         fmt::format("{} sent a piece of a body that nobody asked for", peer_name_)});
    return false;
  }
  chunk_in_.active = true;
  drop_input(kChunkHeaderSize);
  const std::size_t here = std::min(input_size_, size);
  std::memcpy(chunk_in_.room.data(), input_.data(), here);
  drop_input(here);
  take_chunk_bytes(here);
  return true;
}

// A notice's word is at the front of the input. As begin_chunk().
bool ControlSocket::take_notice(std::size_t size) {
  if (size == 0 || size > kMaxNoticeSize) {
    end({ErrorCode::protocol_violation,
         fmt::format("{} sent a notice of {} bytes", peer_name_, size)});
    return false;
  }
  if (input_size_ < kWordSize + size) return false;
  const Status taken = events_->on_notice(Bytes(input_).subspan(kWordSize, size));
  if (!taken) {
    end({taken.error().code, fmt::format("{}: {}", peer_name_, taken.error().message)});
    return false;
  }
  drop_input(kWordSize + size);
  return true;
}

void ControlSocket::take_chunk_bytes(std::size_t count) {
  chunk_in_.room = chunk_in_.room.subspan(count);
  if (!chunk_in_.room.empty()) return;
  chunk_in_.active = false;
  events_->on_chunk_end(chunk_in_.stream);
}

void ControlSocket::drop_input(std::size_t count) {
  input_size_ -= count;
  std::memmove(input_.data(), input_.data() + count, input_size_);
}

}  // namespace godwit::fabric
