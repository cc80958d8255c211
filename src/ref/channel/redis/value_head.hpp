// What a value begins with in Redis, and the names of its parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fail.hpp"
#include "ref/channel/redis/redis_channel.hpp"

namespace godwit::ref {

struct RedisChannel::Head {
  static constexpr std::uint32_t kMagic = 0x52776467;  // "gdwR"
  static constexpr std::uint32_t kWhole = 0;
  static constexpr std::uint32_t kParts = 1;
  static constexpr std::uint32_t kUnfinished = 2;  // of parts

  std::uint32_t magic = kMagic;
  std::uint32_t kind = kWhole;
  std::uint64_t size = 0;
  std::uint64_t part_bytes = 0;
  std::uint64_t number = 0;  // of the put, in the names of its parts

  [[nodiscard]] bool good() const noexcept {
    return magic == kMagic && kind <= kUnfinished && part_bytes != 0;
  }
  [[nodiscard]] bool has_parts() const noexcept { return good() && kind != kWhole; }
  [[nodiscard]] std::uint64_t parts() const noexcept {
    return kind == kWhole ? 0 : (size + part_bytes - 1) / part_bytes;
  }
};

// In the same slot as the key itself.
template <class Head>
[[nodiscard]] std::string part_key(std::string_view key, const Head& head, std::uint64_t part) {
  return fmt::format("{{{}}}:{:016x}:{}", key, head.number, part);
}

[[nodiscard]] inline RedisCommand get_range(std::string_view key, std::uint64_t first,
                                            std::uint64_t last) {
  return RedisCommand{"GETRANGE", key, std::to_string(first), std::to_string(last)};
}

}  // namespace godwit::ref
