// Groups whose ranks are processes, as users ask for them.
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/fail.hpp"
#include "forward/process/process_member.hpp"
#include "godwit/group.hpp"

namespace godwit {
namespace {

Result<Rank> rank_variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read only
  if (value == nullptr) {
    return fail(
        ErrorCode::not_found,
        "{} is not set: start the program with `godwit ranks N PROGRAM`, or set GODWIT_RANK, "
        "GODWIT_RANKS and GODWIT_MEET",
        name);
  }
  const std::string_view text = value;
  Rank number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
    return fail(ErrorCode::invalid_argument, "{} is '{}'; it must be a number", name, text);
  }
  return number;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read only
  return value != nullptr ? value : "";
}

}  // namespace

Result<Group> Group::meet(const MeetOptions& options) {
  auto member = forward::ProcessMember::meet(options);
  if (!member && member.error().code == ErrorCode::address_in_use) {
    return fail(ErrorCode::invalid_argument, "{}", member.error().message);
  }
  if (!member) return tl::unexpected(std::move(member).error());
  return Group(*std::move(member));
}

Result<Group> Group::from_environment() {
  MeetOptions options;
  GODWIT_TRY(options.rank, rank_variable("GODWIT_RANK"));
  GODWIT_TRY(options.ranks, rank_variable("GODWIT_RANKS"));
  options.address = variable("GODWIT_MEET");
  if (options.address.empty()) {
    return fail(ErrorCode::not_found,
                "GODWIT_MEET is not set: it names the place where ranks meet, shm:///path or "
                "tcp://host:port");
  }
  options.key_file = variable("GODWIT_KEY_FILE");
  return meet(options);
}

}  // namespace godwit
