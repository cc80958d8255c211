// A set of vertices, for the few thousand that a walk carries with it.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "data/edge.hpp"

namespace godwit::graph {

// Room for `expected` without growing. Every vertex but kNoTerm.
class VertexSet {
 public:
  explicit VertexSet(std::size_t expected)
      : slots_(std::bit_ceil(expected * 2 + 16), kNoTerm), shift_(shift_for(slots_.size())) {}

  // False if it was there.
  bool insert(TermId vertex) {
    std::size_t at = slot_of(vertex);
    while (slots_[at] != kNoTerm) {
      if (slots_[at] == vertex) return false;
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = vertex;
    if (++size_ * 2 > slots_.size()) grow();
    return true;
  }

 private:
  static unsigned shift_for(std::size_t slots) {
    return 64U - static_cast<unsigned>(std::countr_zero(slots));
  }
  // The upper bits of a product: neighbours in the numbering lie far apart.
  [[nodiscard]] std::size_t slot_of(TermId vertex) const {
    return static_cast<std::size_t>(vertex * 0x9E37'79B9'7F4A'7C15ULL >> shift_);
  }
  void grow() {
    const std::vector<TermId> before = std::move(slots_);
    slots_.assign(before.size() * 4, kNoTerm);
    shift_ = shift_for(slots_.size());
    size_ = 0;
    for (const TermId vertex : before) {
      if (vertex != kNoTerm) insert(vertex);
    }
  }

  std::vector<TermId> slots_;
  unsigned shift_;
  std::size_t size_ = 0;
};

}  // namespace godwit::graph
