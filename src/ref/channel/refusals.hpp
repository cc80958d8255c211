// What channels check and refuse alike.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/fail.hpp"
#include "godwit/channel.hpp"

namespace godwit::ref {

// Keys become names of files.
[[nodiscard]] inline Status check_key(std::string_view key) {
  const bool good = !key.empty() && key.size() <= Channel::kMaxKey &&
                    std::all_of(key.begin(), key.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_';
                    });
  if (good) return {};
  return fail(ErrorCode::invalid_argument,
              "'{}' is no key of a channel: those are 1 to {} letters, digits, '-' and '_'",
              key.substr(0, Channel::kMaxKey), Channel::kMaxKey);
}

[[nodiscard]] inline tl::unexpected<Error> refuse_missing(std::string_view key,
                                                          const Channel& channel) {
  return fail(ErrorCode::not_found, "{} has nothing under {}", channel.describe(), key);
}

[[nodiscard]] inline Status check_range(std::string_view key, std::uint64_t offset,
                                        std::uint64_t bytes, std::uint64_t size) {
  if (offset <= size && bytes <= size - offset) return {};
  return fail(ErrorCode::invalid_argument, "{} has {} bytes: there are no {} from byte {} on", key,
              size, bytes, offset);
}

}  // namespace godwit::ref
