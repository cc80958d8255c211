// A large body on its way out in chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "fabric/control/socket.hpp"

namespace godwit::fabric::ucx {

struct OutgoingBody {
  using Pieces = std::array<Bytes, ControlSocket::kMaxChunkParts>;

  std::uint64_t stream = 0;
  std::uint64_t tag = 0;
  std::vector<Bytes> parts;  // the caller's memory
  std::size_t part = 0;      // the one whose turn it is
  std::size_t offset = 0;    // in that part
  std::uint64_t left = 0;    // bytes not yet given out as chunks

  // The next chunk's pieces; empty when all were given out.
  [[nodiscard]] std::span<const Bytes> next_chunk(Pieces& pieces) {
    std::size_t count = 0;
    std::size_t size = 0;
    while (count < pieces.size() && size < ControlSocket::kMaxChunkSize && part < parts.size()) {
      const Bytes rest = parts[part].subspan(offset);
      const Bytes piece = rest.first(std::min(rest.size(), ControlSocket::kMaxChunkSize - size));
      if (!piece.empty()) pieces[count++] = piece;
      size += piece.size();
      offset += piece.size();
      if (piece.size() == rest.size()) {
        ++part;
        offset = 0;
      }
    }
    left -= size;
    return {pieces.data(), count};
  }
};

}  // namespace godwit::fabric::ucx
