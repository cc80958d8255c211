// How the program ends: one table of exit codes, and the errors that lead to them.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "godwit/error.hpp"

namespace godwit::graph::cli {

// Scripts depend on these numbers: never renumber.
enum class Exit : int {
  ok = 0,
  failed = 1,
  usage = 2,
  bad_query = 3,
  file = 4,
  bad_data = 5,
  unknown = 6,
  too_large = 7,
  fleet = 8,
};

struct ExitMeaning {
  Exit exit;
  std::string_view name;
  std::string_view meaning;
};
// In the order of their numbers.
[[nodiscard]] std::span<const ExitMeaning> exit_meanings();
[[nodiscard]] Exit exit_for(ErrorCode code);

// Why a command failed. Most exit codes follow from the error; a command that knows better, says
// so.
struct Failed {
  Exit exit;
  Error error;

  Failed(Error why)  // NOLINT(google-explicit-constructor): so that errors pass on as they are
      : exit(exit_for(why.code)), error(std::move(why)) {}
  Failed(Exit how, Error why) : exit(how), error(std::move(why)) {}
};
template <class T>
using Outcome = tl::expected<T, Failed>;
using Ended = Outcome<void>;

[[nodiscard]] tl::unexpected<Failed> failed(Exit exit, std::string message);

}  // namespace godwit::graph::cli
