#include "ref/disk/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.hpp"

namespace godwit::ref {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

}  // namespace

void Checksum::add_blocks(const std::byte* data, std::byte* to, std::size_t count) noexcept {
  static checksum_blocks::AddBlocks* const vectors = checksum_blocks::add_blocks_with_avx2();
  (vectors != nullptr ? vectors : &checksum_blocks::add_blocks_anywhere)(lanes_, keys_, data, to,
                                                                         count);
}

void Checksum::add(Bytes bytes, std::byte* to) noexcept {
  const std::size_t waiting = size_ % kBlock;
  size_ += bytes.size();
  if (waiting != 0) {
    const std::size_t more = std::min(kBlock - waiting, bytes.size());
    std::copy_n(bytes.data(), more, rest_.data() + waiting);
    if (to != nullptr) to = std::copy_n(bytes.data(), more, to);
    bytes = bytes.subspan(more);
    if (waiting + more < kBlock) return;
    add_blocks(rest_.data(), nullptr, 1);
  }
  add_blocks(bytes.data(), to, bytes.size() / kBlock);
  const Bytes left = bytes.last(bytes.size() % kBlock);
  std::copy(left.begin(), left.end(), rest_.begin());
  if (to != nullptr) std::copy(left.begin(), left.end(), to + (bytes.size() - left.size()));
}

std::uint64_t Checksum::value() const noexcept {
  Checksum last = *this;
  if (const std::size_t waiting = size_ % kBlock; waiting != 0) {
    std::fill(last.rest_.begin() + static_cast<std::ptrdiff_t>(waiting), last.rest_.end(),
              std::byte{0});
    last.add_blocks(last.rest_.data(), nullptr, 1);
  }
  std::uint64_t value = mix64(size_);
  for (const std::uint64_t lane : last.lanes_) value = mix64(value ^ lane);
  return value;
}

}  // namespace godwit::ref
