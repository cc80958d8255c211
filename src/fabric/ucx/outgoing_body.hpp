// A large body on its way out in chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/control/socket.hpp"
#include "fabric/ucx/unasked.hpp"

namespace godwit::fabric::ucx {

struct OutgoingBody {
  // Between two chunks the owner looks at everything else: one takes some 50 us to send, and
  // smaller ones cost more than they spare.
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  static_assert(kChunk <= ControlSocket::kMaxChunkSize);
  // Of several bodies each gets so many bytes at a time.
  static constexpr std::size_t kTurn = std::size_t{4} << 20;
  using Pieces = std::array<Bytes, ControlSocket::kMaxChunkParts>;

  std::uint64_t stream = 0;
  std::uint64_t tag = 0;
  std::vector<Bytes> parts;  // the caller's memory
  std::size_t part = 0;      // the one whose turn it is
  std::size_t offset = 0;    // in that part
  std::uint64_t left = 0;    // bytes not yet given out as chunks
  std::size_t turn_left = kTurn;
  std::optional<Notice> notice{};  // to go ahead of the first chunk

  // The next chunk's pieces; empty when all were given out.
  [[nodiscard]] std::span<const Bytes> next_chunk(Pieces& pieces) {
    std::size_t count = 0;
    std::size_t size = 0;
    while (count < pieces.size() && size < kChunk && part < parts.size()) {
      const Bytes rest = parts[part].subspan(offset);
      const Bytes piece = rest.first(std::min(rest.size(), kChunk - size));
      if (!piece.empty()) pieces[count++] = piece;
      size += piece.size();
      offset += piece.size();
      if (piece.size() == rest.size()) {
        ++part;
        offset = 0;
      }
    }
    left -= size;
    turn_left -= std::min(turn_left, size);
    return {pieces.data(), count};
  }
};

}  // namespace godwit::fabric::ucx
