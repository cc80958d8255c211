#include "godwit/error.hpp"

#include <system_error>

#include "base/fail.hpp"

namespace godwit {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::none: return "none";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::unknown_function: return "unknown_function";
    case ErrorCode::type_mismatch: return "type_mismatch";
    case ErrorCode::overload: return "overload";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::no_slice: return "no_slice";
    case ErrorCode::missing_library: return "missing_library";
    case ErrorCode::missing_symbol: return "missing_symbol";
    case ErrorCode::corrupt_code: return "corrupt_code";
    case ErrorCode::compile_failed: return "compile_failed";
    case ErrorCode::hop_limit: return "hop_limit";
    case ErrorCode::fan_out_limit: return "fan_out_limit";
    case ErrorCode::would_block: return "would_block";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::deadline: return "deadline";
    case ErrorCode::app_error: return "app_error";
    case ErrorCode::evicted: return "evicted";
    case ErrorCode::crashed: return "crashed";
    case ErrorCode::unknown_code: return "unknown_code";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::already_exists: return "already_exists";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::io: return "io";
    case ErrorCode::bad_format: return "bad_format";
    case ErrorCode::permission: return "permission";
    case ErrorCode::stale: return "stale";
    case ErrorCode::borrowed: return "borrowed";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::link_lost: return "link_lost";
    case ErrorCode::handshake_failed: return "handshake_failed";
    case ErrorCode::unauthorised: return "unauthorised";
    case ErrorCode::version_mismatch: return "version_mismatch";
    case ErrorCode::address_in_use: return "address_in_use";
    case ErrorCode::bad_address: return "bad_address";
    case ErrorCode::protocol_violation: return "protocol_violation";
    case ErrorCode::node_lost: return "node_lost";
    case ErrorCode::shutting_down: return "shutting_down";
    case ErrorCode::resource_exhausted: return "resource_exhausted";
    case ErrorCode::internal: return "internal";
    case ErrorCode::unsupported: return "unsupported";
  }
  return "unknown";
}

std::string_view to_string(Damage damage) noexcept {
  switch (damage) {
    case Damage::call: return "call";
    case Damage::object: return "object";
    case Damage::link: return "link";
    case Damage::node: return "node";
  }
  return "unknown";
}

std::string errno_text(int error_number) {
  return std::error_code(error_number, std::generic_category()).message();
}

}  // namespace godwit
