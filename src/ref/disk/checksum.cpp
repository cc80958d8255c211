#include "ref/disk/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.hpp"

namespace godwit::ref {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

// Each step and the end are reversible in every word: that is what catches any change of one.
constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;

std::uint64_t step(std::uint64_t lane, const std::byte* word) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  return std::rotl(lane ^ value, 29) * kOdd;
}

}  // namespace

void Checksum::add_blocks(const std::byte* data, std::size_t count) noexcept {
  auto [a, b, c, d] = lanes_;
  for (; count != 0; --count, data += kBlock) {
    a = step(a, data);
    b = step(b, data + 8);
    c = step(c, data + 16);
    d = step(d, data + 24);
  }
  lanes_ = {a, b, c, d};
}

void Checksum::add(Bytes bytes) noexcept {
  const std::size_t waiting = size_ % kBlock;
  size_ += bytes.size();
  if (waiting != 0) {
    const std::size_t more = std::min(kBlock - waiting, bytes.size());
    std::copy_n(bytes.data(), more, rest_.data() + waiting);
    bytes = bytes.subspan(more);
    if (waiting + more < kBlock) return;
    add_blocks(rest_.data(), 1);
  }
  add_blocks(bytes.data(), bytes.size() / kBlock);
  const Bytes left = bytes.last(bytes.size() % kBlock);
  std::copy(left.begin(), left.end(), rest_.begin());
}

std::uint64_t Checksum::value() const noexcept {
  Checksum last = *this;
  if (const std::size_t waiting = size_ % kBlock; waiting != 0) {
    std::fill(last.rest_.begin() + static_cast<std::ptrdiff_t>(waiting), last.rest_.end(),
              std::byte{0});
    last.add_blocks(last.rest_.data(), 1);
  }
  std::uint64_t value = mix64(size_);
  for (const std::uint64_t lane : last.lanes_) value = mix64(value ^ lane);
  return value;
}

}  // namespace godwit::ref
