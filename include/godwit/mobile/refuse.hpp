// How an exported function says what is wrong with what it was asked.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "godwit/mobile/call.hpp"

namespace godwit::ops {

// ErrorCodes that operations report; the numbers are those of godwit/error.hpp.
inline constexpr std::uint32_t kInvalidArgument = 1;
inline constexpr std::uint32_t kTypeMismatch = 3;
inline constexpr std::uint32_t kTooLarge = 5;
inline constexpr std::uint32_t kNodeLost = 300;
inline constexpr std::uint32_t kResourceExhausted = 302;

// Ends the call as app_error with that reason.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void refuse(
    std::uint32_t reason, const char* format, ...) {
  char text[FailureText::kLimit + 1];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  throw CallFailed(GODWIT_ENDED_APP_ERROR, reason, true, text);
}

// For %llu.
inline unsigned long long as_printed(std::uint64_t number) noexcept {
  return number;
}

}  // namespace godwit::ops
