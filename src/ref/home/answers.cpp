#include "ref/home/answers.hpp"

#include <cstring>

#include "base/fail.hpp"
#include "godwit/codec.hpp"

namespace godwit::ref {

void Answers::clear() noexcept {
  constexpr std::size_t kWorthKeeping = std::size_t{1} << 20;
  fixed_.clear();
  if (tail_.capacity() > kWorthKeeping) tail_ = {};
  tail_.clear();
  lent_.clear();
  lent_bytes_ = 0;
  lender_.reset();
}

void Answers::append(Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(append_room(bytes.size()).data(), bytes.data(), bytes.size());
}

void Answers::append(Bytes first, Bytes second) {
  const std::span<std::byte> room = append_room(first.size() + second.size());
  std::memcpy(room.data(), first.data(), first.size());
  if (!second.empty()) std::memcpy(room.data() + first.size(), second.data(), second.size());
}

std::span<std::byte> Answers::append_room(std::size_t bytes) {
  tail_start_ = tail_.size();
  tail_.resize(tail_start_ + wire::padded_tail(bytes));
  fixed_.back().tail_bytes = bytes;
  return std::span(tail_).subspan(tail_start_, bytes);
}

void Answers::fail(const Error& error) {
  wire::ObjectAnswer& answer = fixed_.back();
  if (answer.tail_bytes > 0) tail_.resize(tail_start_);
  answer = {.code = static_cast<std::uint32_t>(error.code)};
  append(bytes_of(error.message));
}

void Answers::append_more(Bytes bytes) {
  fixed_.back().tail_bytes += bytes.size();
  tail_.insert(tail_.end(), bytes.begin(), bytes.end());
}

std::span<std::byte> Answers::more_room(std::size_t bytes) {
  fixed_.back().tail_bytes += bytes;
  tail_.resize(tail_.size() + bytes);
  return std::span(tail_).last(bytes);
}

void Answers::lend(Bytes bytes) {
  fixed_.back().tail_bytes += bytes.size();
  lent_.push_back({.after = tail_.size(), .bytes = bytes});
  lent_bytes_ += bytes.size();
}

// A result of type bytes is its descriptor, and the bytes.
Status Answers::write_to(call::ReplyBuffer& reply) {
  const std::size_t fixed_bytes = fixed_.size() * sizeof(wire::ObjectAnswer);
  const std::size_t own_bytes = fixed_bytes + tail_.size();
  const Descriptor where{.offset = kBlobAlign, .count = own_bytes + lent_bytes_};
  static_assert(sizeof where == kBlobAlign);
  std::byte* to = reply.make_room(sizeof where + own_bytes);
  if (to == nullptr) {
    return godwit::fail(ErrorCode::too_large, "no room for an answer of {} bytes", own_bytes);
  }
  std::memcpy(to, &where, sizeof where);
  to += sizeof where;
  if (fixed_bytes > 0) std::memcpy(to, fixed_.data(), fixed_bytes);
  if (!tail_.empty()) std::memcpy(to + fixed_bytes, tail_.data(), tail_.size());
  if (lent_.empty()) return {};
  for (call::ReplyBuffer::Lent& piece : lent_) piece.after += sizeof where + fixed_bytes;
  if (!reply.lend(lent_, std::move(lender_))) {
    return godwit::fail(ErrorCode::out_of_memory, "no memory for an answer");
  }
  return {};
}

}  // namespace godwit::ref
