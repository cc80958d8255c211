// Several small messages in one active message: the bytes.
//
// Entries, one behind the other: the message's header, in which the body's size stands in place of
// the link's token (the batch has that once, in its own header), the body, and zeros up to the next
// multiple of 16. So the bodies of a batch that lies in aligned memory are aligned too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/parts.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::ucx {

[[nodiscard]] constexpr std::size_t batch_entry_size(std::size_t body_size) noexcept {
  constexpr std::size_t kAlignment = 16;
  return sizeof(wire::Header) + (body_size + kAlignment - 1) / kAlignment * kAlignment;
}

// `at` has room for batch_entry_size(size), and `size` is what the parts have together.
inline void write_batch_entry(std::byte* at, wire::Header header, std::span<const Bytes> parts,
                              std::size_t size) noexcept {
  header.link_token = size;
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  gather(parts, at);
  const std::size_t padding = batch_entry_size(size) - sizeof header - size;
  if (padding > 0) std::memset(at + size, 0, padding);
}

struct BatchedMessage {
  wire::Header header;  // with the body's size as its link token
  Bytes body;
};

// The entry at `offset`, which moves behind it. Nothing if none is there, or if it does not fit.
[[nodiscard]] inline std::optional<BatchedMessage> read_batch_entry(Bytes batch,
                                                                    std::size_t& offset) noexcept {
  BatchedMessage message;
  const std::size_t left = batch.size() - offset;
  if (left < sizeof message.header) return std::nullopt;
  std::memcpy(&message.header, batch.data() + offset, sizeof message.header);
  const std::uint64_t size = message.header.link_token;
  // In this order: the sum for a size off the wire may wrap around.
  if (size > left || batch_entry_size(size) > left) return std::nullopt;
  message.body = batch.subspan(offset + sizeof message.header, size);
  offset += batch_entry_size(size);
  return message;
}

// How many messages there are; 0: these bytes are no batch.
[[nodiscard]] inline std::size_t count_batch(Bytes batch) noexcept {
  std::size_t count = 0;
  std::size_t offset = 0;
  while (read_batch_entry(batch, offset)) ++count;
  return offset == batch.size() ? count : 0;
}

}  // namespace godwit::fabric::ucx
