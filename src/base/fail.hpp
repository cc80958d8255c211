// Short spellings for making and passing on errors.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "godwit/error.hpp"

namespace godwit {

template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// The system's words for an errno value; safe to call from any thread.
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace godwit

#define GODWIT_JOIN_INNER(a, b) a##b
#define GODWIT_JOIN(a, b) GODWIT_JOIN_INNER(a, b)

// GODWIT_TRY(auto value, f()) declares `value` from f()'s result, or returns f()'s error.
#define GODWIT_TRY(declaration, expression)                                       \
  auto GODWIT_JOIN(godwit_try_, __LINE__) = (expression);                         \
  if (!GODWIT_JOIN(godwit_try_, __LINE__))                                        \
    return tl::unexpected(std::move(GODWIT_JOIN(godwit_try_, __LINE__)).error()); \
  declaration = *std::move(GODWIT_JOIN(godwit_try_, __LINE__))

// GODWIT_CHECK(f()) returns f()'s error, if it has one.
#define GODWIT_CHECK(expression)                         \
  if (auto godwit_status = (expression); !godwit_status) \
  return tl::unexpected(std::move(godwit_status).error())
