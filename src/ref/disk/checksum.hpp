// Tells whether bytes are still what they were. Against accidents (disks, memory, cut-off files),
// not against people: anybody can make bytes with a given checksum. Over ten times as
// fast as a cryptographic hash, and about as fast as memory that is in no cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace godwit::ref {

// 64 bits over a sequence of pieces; how it was cut into pieces makes no difference. Whatever
// happens within one aligned word of 8 bytes changes it; damage of other kinds goes unnoticed once
// in 2^64 times. The same on every machine.
class Checksum {
 public:
  void add(Bytes bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

  [[nodiscard]] static std::uint64_t of(Bytes bytes) noexcept {
    Checksum checksum;
    checksum.add(bytes);
    return checksum.value();
  }

 private:
  // Several, since each step waits for the one before it in its lane.
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);

  void add_blocks(const std::byte* data, std::size_t count) noexcept;

  std::array<std::uint64_t, kLanes> lanes_{0x243F6A8885A308D3, 0x13198A2E03707344,
                                           0xA4093822299F31D0, 0x082EFA98EC4E6C89};
  std::array<std::byte, kBlock> rest_{};
  std::uint64_t size_ = 0;
};

}  // namespace godwit::ref
