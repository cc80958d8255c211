#include "ops/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "godwit/detail/region_handle.hpp"

namespace godwit::ops {

Note::Note(std::string_view region, const char* verb, std::uint64_t first_index,
           std::uint64_t elements, std::uint32_t on_shard) noexcept
    : what(verb),
      first(first_index),
      count(elements),
      shard(on_shard),
      name_size(static_cast<std::uint32_t>(std::min(region.size(), name.size()))) {
  std::copy_n(region.begin(), name_size, name.begin());
}

void annotate(detail::CallHandle& call, const Note& note) noexcept {
  static_assert(std::is_trivially_copyable_v<Note>);
  std::memcpy(call.small().subspan(kArgumentBytes).data(), &note,
              offsetof(Note, name) + note.name_size);
}

std::string subject_of(const Note& note) {
  const std::string_view region(note.name.data(), note.name_size);
  if (note.count == 1) {
    return fmt::format("{} of element {} of region '{}'", note.what, note.first, region);
  }
  return fmt::format("{} of elements {} to {} of region '{}'", note.what, note.first,
                     note.first + (note.count == 0 ? 0 : note.count - 1), region);
}

Note note_of(detail::CallHandle& call) noexcept {
  Note note({}, "", 0, 0, 0);
  std::memcpy(&note, call.small().subspan(kArgumentBytes).data(), sizeof note);
  return note;
}

// The functions of ops check everything before they change anything, and then cannot fail: what
// they refuse has not happened.
Failure failure_of(detail::CallHandle& call) {
  Failure failure = call.failure();
  if (!call) return failure;
  if (failure.ending == Ending::app_error && failure.reason != ErrorCode::app_error) {
    failure.ending = says_gone(failure.reason) ? Ending::node_lost : Ending::rejected;
    failure.may_have_started = false;
  }
  const Note note = note_of(call);
  failure.message = fmt::format("{} (shard {}): {}", subject_of(note), note.shard, failure.message);
  return failure;
}

Failure user_failure_of(detail::CallHandle& call) {
  Failure failure = call.failure();
  if (!call) return failure;
  if (failure.ending == Ending::app_error && says_gone(failure.reason)) {
    failure.ending = Ending::node_lost;
  }
  failure.message = fmt::format("{}: {}", subject_of(note_of(call)), failure.message);
  return failure;
}

}  // namespace godwit::ops

namespace godwit::detail {

Failure region_failure(CallHandle& call) {
  return ops::failure_of(call);
}

}  // namespace godwit::detail
