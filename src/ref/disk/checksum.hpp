// Tells whether bytes are still what they were. Against accidents (disks, memory, wires, cut-off
// files), not against people: anybody can make bytes with a given checksum. As fast as memory that
// is in no cache, where the processor has AVX2; copying and summing up at once costs what copying
// does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace godwit::ref {

// 64 bits over a sequence of pieces; how it was cut into pieces makes no difference. Damage goes
// unnoticed once in 2^64 times. The same on every machine (docs/protocol.md).
class Checksum {
 public:
  void add(Bytes bytes) noexcept { add(bytes, nullptr); }
  // Copies them as well, to memory that does not overlap.
  void add_copying(Bytes bytes, std::byte* to) noexcept { add(bytes, to); }
  [[nodiscard]] std::uint64_t value() const noexcept;

  [[nodiscard]] static std::uint64_t of(Bytes bytes) noexcept {
    Checksum checksum;
    checksum.add(bytes);
    return checksum.value();
  }

  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);
  using Lanes = std::array<std::uint64_t, kLanes>;

 private:
  void add(Bytes bytes, std::byte* to) noexcept;
  void add_blocks(const std::byte* data, std::byte* to, std::size_t count) noexcept;

  Lanes lanes_{};
  Lanes keys_ = kFirstKeys;
  std::array<std::byte, kBlock> rest_{};
  std::uint64_t size_ = 0;

  static constexpr Lanes kFirstKeys{0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0,
                                    0x082EFA98EC4E6C89, 0x452821E638D01377, 0xBE5466CF34E90C6C,
                                    0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917};
};

namespace checksum_blocks {

// How blocks become part of the lanes, and are copied to `to` unless that is null: one for any
// machine, and one for those that have AVX2, which does the same.
using AddBlocks = void(Checksum::Lanes& lanes, Checksum::Lanes& keys, const std::byte* data,
                       std::byte* to, std::size_t count) noexcept;
AddBlocks add_blocks_anywhere;
// Null: not on this machine.
[[nodiscard]] AddBlocks* add_blocks_with_avx2() noexcept;

}  // namespace checksum_blocks
}  // namespace godwit::ref
