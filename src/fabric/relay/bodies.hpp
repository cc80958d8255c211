// Bodies too large for one record, on their way out and in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "wire/header.hpp"

namespace godwit::fabric::relay {

struct OutgoingBody {
  wire::Header header;
  std::uint64_t tag = 0;
  std::uint32_t stream = 0;  // 0: nothing of it was sent yet
  std::vector<Bytes> parts;  // the caller's memory
  std::size_t part = 0;      // the one whose turn it is
  std::size_t offset = 0;    // in that part
  std::uint64_t size = 0;
  std::uint64_t left = 0;

  // The next bytes, at most so many.
  void take(std::size_t at_most, std::vector<Bytes>& pieces) {
    pieces.clear();
    while (at_most > 0 && part < parts.size()) {
      const Bytes rest = parts[part].subspan(offset);
      const Bytes piece = rest.first(std::min(rest.size(), at_most));
      if (!piece.empty()) pieces.push_back(piece);
      at_most -= piece.size();
      left -= piece.size();
      offset += piece.size();
      if (piece.size() != rest.size()) return;
      ++part;
      offset = 0;
    }
  }
};

struct ArrivingBody {
  std::uint32_t stream = 0;
  wire::Header header;
  Buffer body;  // empty: it is discarded
  std::uint64_t size = 0;
  std::uint64_t arrived = 0;
};

}  // namespace godwit::fabric::relay
