// What ranks of an exchange tell each other beside items: chunks of a kind of their own.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "forward/termination.hpp"
#include "godwit/detail/forward/chunk.hpp"
#include "godwit/error.hpp"

namespace godwit::forward {

// Chunk::kind of control; kinds of items count from 0.
inline constexpr std::uint16_t kControlKind = 0xFFFF;

enum class ControlKind : std::uint32_t {
  introduction = 1,  // text: the item types and options that must agree
  round_end = 2,     // all that belongs to the round has been sent
  termination = 3,
  over = 4,    // the sender has left the exchange; text: why
  agreed = 5,  // how the sender's part of something went that all do; text: why not, or what else
  work_wanted = 6,  // the sender has nothing to do
  work_given = 7,   // what its receiver got for asking; the chunks come by themselves
  note = 8,         // between ranks on GPUs: the text is theirs
  busy = 9,         // the sender is still at its part of something that all do
};

struct Control {
  ControlKind kind = ControlKind::introduction;
  ErrorCode why = ErrorCode::none;  // over, agreed
  std::uint16_t save = 0;           // round_end of rank 0; 1: all save what the round brings
  std::uint64_t chunks = 0;   // round_end: those of the round for the receiver; agreed: its number;
                              // introduction: with whom it shares work; work_given: how many
  std::uint64_t emitted = 0;  // round_end, work_given: items that are not reduced;
                              // introduction: 1 if the sender is a rank on a GPU
  std::uint64_t held_back = 0;  // round_end: items that are still to be sent
  TerminationMessage termination = {};
};
static_assert(std::is_trivially_copyable_v<Control>);

// A control chunk has a Control and after it a text.
[[nodiscard]] inline const Control& control_of(const detail::Chunk& chunk) noexcept {
  return *reinterpret_cast<const Control*>(chunk.items());
}
[[nodiscard]] inline std::string_view text_of(const detail::Chunk& chunk) noexcept {
  return {reinterpret_cast<const char*>(chunk.items()) + sizeof(Control),
          chunk.used - sizeof(Control)};
}

}  // namespace godwit::forward
