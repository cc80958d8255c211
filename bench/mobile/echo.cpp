// The functions the benchmarks call: shipped as a bundle, and compiled into the benchmark itself as
// the functions of a node where they are already installed.
#include <godwit/mobile.hpp>
#include <godwit/mobile/std.hpp>

#include <array>
#include <span>

using Block = std::array<std::uint64_t, 8>;  // 64 bytes

Block echo(godwit::Here&, const Block& block) {
  return block;
}
GODWIT_EXPORT(echo, inline_);

Block echo_on_pool(godwit::Here&, const Block& block) {
  return block;
}
GODWIT_EXPORT(echo_on_pool);

std::span<const std::byte> echo_bytes(godwit::Here&, std::span<const std::byte> bytes) {
  return bytes;
}
GODWIT_EXPORT(echo_bytes, inline_);
