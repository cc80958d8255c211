#include "exit.hpp"

#include <algorithm>

namespace godwit::cli {
namespace {

constexpr ExitMeaning kMeanings[] = {
    {Exit::ok, "ok", "it worked"},
    {Exit::app_error, "app_error", "the function ran and failed: it threw, or returned an error"},
    {Exit::usage, "usage", "the command line or a setting is wrong"},
    {Exit::unknown_function, "unknown_function", "the bundle has no function of that name"},
    {Exit::bad_arguments, "bad_arguments", "too many, too few or the wrong kind of arguments"},
    {Exit::missing_library, "missing_library",
     "the node lacks a library or symbol that the code needs"},
    {Exit::no_slice, "no_slice", "the bundle has no code for the node's machine"},
    {Exit::unreachable, "unreachable", "no such node or fleet, or it does not answer"},
    {Exit::address_in_use, "address_in_use", "somebody else listens at that address"},
    {Exit::cache_unwritable, "cache_unwritable",
     "the cache directory that was asked for is unusable"},
    {Exit::compile_failed, "compile_failed", "the sources do not compile, or export nothing"},
    {Exit::bad_file, "bad_file", "a file is missing, unreadable or not what it should be"},
    {Exit::permission, "permission", "not allowed: file permissions, or the wrong fleet key"},
    {Exit::deadline, "deadline", "the call did not end in time"},
    {Exit::cancelled, "cancelled", "the call was cancelled, for instance with Ctrl-C"},
    {Exit::node_lost, "node_lost", "the node died, or the link to it broke, during the call"},
    {Exit::rejected, "rejected", "the node refused the call: overload, limits, shutting down"},
    {Exit::internal, "internal", "a defect of godwit, or a system that is out of resources"},
    {Exit::already_exists, "already_exists", "what should be made is there already"},
};

}  // namespace

std::span<const ExitMeaning> exit_meanings() {
  return kMeanings;
}

std::string_view to_string(Exit exit) {
  return kMeanings[static_cast<std::size_t>(exit)].name;
}

Exit exit_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::none: return Exit::ok;
    case ErrorCode::app_error: return Exit::app_error;
    case ErrorCode::bad_address: return Exit::usage;
    case ErrorCode::unknown_function: return Exit::unknown_function;
    case ErrorCode::invalid_argument:
    case ErrorCode::type_mismatch: return Exit::bad_arguments;
    case ErrorCode::missing_library:
    case ErrorCode::missing_symbol: return Exit::missing_library;
    case ErrorCode::no_slice: return Exit::no_slice;
    case ErrorCode::unreachable:
    case ErrorCode::handshake_failed:
    case ErrorCode::version_mismatch: return Exit::unreachable;
    case ErrorCode::address_in_use: return Exit::address_in_use;
    case ErrorCode::compile_failed: return Exit::compile_failed;
    case ErrorCode::not_found:
    case ErrorCode::io:
    case ErrorCode::bad_format:
    case ErrorCode::stale:
    case ErrorCode::corrupt_code: return Exit::bad_file;
    case ErrorCode::permission:
    case ErrorCode::unauthorised: return Exit::permission;
    case ErrorCode::deadline: return Exit::deadline;
    case ErrorCode::cancelled: return Exit::cancelled;
    case ErrorCode::node_lost:
    case ErrorCode::link_lost:
    case ErrorCode::crashed: return Exit::node_lost;
    case ErrorCode::overload:
    case ErrorCode::too_large:
    case ErrorCode::hop_limit:
    case ErrorCode::fan_out_limit:
    case ErrorCode::would_block:
    case ErrorCode::evicted:
    case ErrorCode::borrowed:
    case ErrorCode::unknown_code:
    case ErrorCode::shutting_down: return Exit::rejected;
    case ErrorCode::already_exists: return Exit::already_exists;
    case ErrorCode::out_of_memory:
    case ErrorCode::protocol_violation:
    case ErrorCode::resource_exhausted:
    case ErrorCode::internal:
    case ErrorCode::unsupported: return Exit::internal;
  }
  return Exit::internal;  // a number from a newer peer
}

Error error_of(const Failure& failure) {
  const ErrorCode code = [&] {
    switch (failure.ending) {
      case Ending::ok: return ErrorCode::none;
      case Ending::app_error: return ErrorCode::app_error;
      case Ending::cancelled: return ErrorCode::cancelled;
      case Ending::deadline: return ErrorCode::deadline;
      case Ending::evicted: return ErrorCode::evicted;
      case Ending::crashed: return ErrorCode::crashed;
      case Ending::node_lost: return ErrorCode::node_lost;
      case Ending::rejected: return failure.reason;
    }
    return ErrorCode::internal;
  }();
  return {code, to_string(failure)};
}

}  // namespace godwit::cli
