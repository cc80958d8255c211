// What a call on a region was about, kept with it so that its failure can say so.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "godwit/call_handle.hpp"
#include "godwit/outcome.hpp"
#include "wire/region.hpp"

namespace godwit::ops {

struct Note {
  const char* what = "";  // a constant: "get"
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t shard = 0;
  std::uint32_t name_size = 0;
  std::array<char, wire::kMaxRegionNameBytes> name;  // only name_size of it mean anything

  // Of elements of the region of that name.
  Note(std::string_view region, const char* verb, std::uint64_t first_index, std::uint64_t elements,
       std::uint32_t on_shard) noexcept;
};

// Notes lie at the end of a call's small arguments, which therefore have less room.
inline constexpr std::size_t kArgumentBytes = detail::CallHandle::kSmallBytes - sizeof(Note);
void annotate(detail::CallHandle& call, const Note& note) noexcept;

// "get of elements 5 to 8 of region 'list'"
[[nodiscard]] std::string subject_of(const Note& note);
// The failure of an annotated call that has ended, as its caller should see it.
[[nodiscard]] Failure failure_of(detail::CallHandle& call);
// The same of a function that is not one of ops: it may have done something before it failed.
[[nodiscard]] Failure user_failure_of(detail::CallHandle& call);
// What an annotated call was about.
[[nodiscard]] Note note_of(detail::CallHandle& call) noexcept;

}  // namespace godwit::ops
