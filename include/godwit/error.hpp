// Errors and results, the vocabulary every other header speaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "godwit/export.hpp"

namespace godwit {

// What went wrong. The numbers travel on the wire and are exit codes' source: never renumber.
// The hundreds say what is damaged, so that a caller knows what to rebuild; see damage().
enum class ErrorCode : std::uint16_t {
  none = 0,

  // One call failed; everything around it is intact.
  invalid_argument = 1,
  unknown_function = 2,
  type_mismatch = 3,
  overload = 4,
  too_large = 5,
  no_slice = 6,
  missing_library = 7,
  missing_symbol = 8,
  corrupt_code = 9,
  compile_failed = 10,
  hop_limit = 11,
  fan_out_limit = 12,
  would_block = 13,
  cancelled = 14,
  deadline = 15,
  app_error = 16,
  evicted = 17,
  crashed = 18,
  unknown_code = 19,

  // An object (file, bundle, name, memory) is missing or unusable.
  not_found = 100,
  already_exists = 101,
  out_of_memory = 102,
  io = 103,
  bad_format = 104,
  permission = 105,
  stale = 106,     // a version that is gone, since there is a newer one
  borrowed = 107,  // somebody else has borrowed the object

  // A link could not be made, or is gone.
  unreachable = 200,
  link_lost = 201,
  handshake_failed = 202,
  unauthorised = 203,
  version_mismatch = 204,
  address_in_use = 205,
  bad_address = 206,
  protocol_violation = 207,

  // A node is gone or cannot go on.
  node_lost = 300,
  shutting_down = 301,
  resource_exhausted = 302,
  internal = 303,
  unsupported = 304,
};

enum class Damage : std::uint8_t { call, object, link, node };

[[nodiscard]] constexpr Damage damage(ErrorCode code) noexcept {
  return static_cast<Damage>(static_cast<std::uint16_t>(code) / 100);
}

// Whether a node is not there: its link broke, or nobody answers at its address. The two say the
// same of a node that was there before; which of them is told depends on who noticed first.
[[nodiscard]] constexpr bool says_gone(ErrorCode code) noexcept {
  return code == ErrorCode::node_lost || code == ErrorCode::unreachable;
}

// The code's name as it appears in messages and JSON, e.g. "missing_library"; "unknown" for a
// number this build does not know.
[[nodiscard]] GODWIT_API std::string_view to_string(ErrorCode code) noexcept;
[[nodiscard]] GODWIT_API std::string_view to_string(Damage damage) noexcept;

struct Error {
  ErrorCode code = ErrorCode::internal;
  // For a person: what failed, on what, why, and what to do about it.
  std::string message;
};

// A value or an Error; ignoring one is a compile-time warning. Everything else is tl::expected's.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  using Base::operator=;
  Result() = default;
  Result(const Base& other) : Base(other) {}                 // NOLINT(google-explicit-constructor)
  Result(Base&& other) noexcept : Base(std::move(other)) {}  // NOLINT(google-explicit-constructor)
};
using Status = Result<void>;

}  // namespace godwit
