// What a scan of a tree asks for and answers; known to mobile code and clients alike.
#pragma once

#include <cstdint>
#include <vector>

#include "godwit/ops/layout.hpp"
#include "godwit/struct.hpp"

namespace godwit::ops {

struct ScanRequest {
  std::uint64_t at = 0;  // the node of the tree to go on from: the root, or a leaf
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t limit = 0;  // entries of a page
  std::uint64_t left = 0;   // nodes of the tree that it may still look at: no circle lasts
};
GODWIT_STRUCT(ScanRequest, at, from, to, limit, left);

struct ScanPage {
  std::vector<TreeEntry> entries;
  ScanRequest request;     // for the next page
  std::uint32_t over = 0;  // 1: there is none
};
GODWIT_STRUCT(ScanPage, entries, request, over);

}  // namespace godwit::ops
