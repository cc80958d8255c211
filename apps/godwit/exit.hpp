// How the program ends: one table of exit codes, and the errors that lead to them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "godwit/error.hpp"
#include "godwit/outcome.hpp"

namespace godwit::cli {

// Scripts depend on these numbers: never renumber.
enum class Exit : int {
  ok = 0,
  app_error = 1,
  usage = 2,
  unknown_function = 3,
  bad_arguments = 4,
  missing_library = 5,
  no_slice = 6,
  unreachable = 7,
  address_in_use = 8,
  cache_unwritable = 9,
  compile_failed = 10,
  bad_file = 11,
  permission = 12,
  deadline = 13,
  cancelled = 14,
  node_lost = 15,
  rejected = 16,
  internal = 17,
  already_exists = 18,
};

struct ExitMeaning {
  Exit exit;
  std::string_view name;
  std::string_view meaning;
};
// All of them, in the order of their numbers.
[[nodiscard]] std::span<const ExitMeaning> exit_meanings();
[[nodiscard]] std::string_view to_string(Exit exit);
[[nodiscard]] Exit exit_for(ErrorCode code);

// Why a command failed. Most exit codes follow from the error; a command that knows better, says
// so.
struct Failed {
  Exit exit;
  Error error;
  bool in_output = false;  // the command's own JSON already tells of it

  Failed(Error why)  // NOLINT(google-explicit-constructor): so that errors pass on as they are
      : exit(exit_for(why.code)), error(std::move(why)) {}
  Failed(Exit how, Error why) : exit(how), error(std::move(why)) {}
};
using Ended = tl::expected<void, Failed>;
// The command line is wrong.
[[nodiscard]] inline Failed usage(std::string message) {
  return {Exit::usage, {ErrorCode::invalid_argument, std::move(message)}};
}

// The error that says the same as a call's failure.
[[nodiscard]] Error error_of(const Failure& failure);

}  // namespace godwit::cli
