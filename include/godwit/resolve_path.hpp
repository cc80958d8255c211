// The ways to an object's bytes: which one they came by (Pinned::how()), and which one they would
// come by, and why (Ref::explain()).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/export.hpp"
#include "godwit/handle.hpp"

namespace godwit {

// How the bytes of a resolved object came to be readable in this process.
enum class ResolvedBy : std::uint8_t {
  pointer,  // this process is the home
  mapping,  // memory of the home's, on this host: nothing was copied
  message,  // a copy, in the home's answer
  stream,   // a copy, in several pieces
  channel,  // a copy, which came from the channel that has it
  copy,     // a copy from memory of the home's, on this host: nobody was asked
};
// The enumerator's name; "unknown" for a number this build does not know.
[[nodiscard]] GODWIT_API std::string_view to_string(ResolvedBy how) noexcept;

// A way to an object's bytes from this process.
struct ResolvePath {
  std::string name;  // "pointer", "mapping", "message", "stream", or a channel's
  bool possible = true;
  std::string why{};  // it is not possible, or not taken
  double expected_us = 0;
  std::uint64_t measured = 0;  // how often; 0: what is expected is a guess
  double last_us = 0;
  std::uint64_t last_bytes = 0;
};

// What resolving an object would do, and why. As things are when it is asked: what this process
// measures from then on may change the choice. It costs a question to the home, and resolves
// nothing.
struct ResolveDecision {
  Handle handle;
  std::string channel;    // that has the bytes; "memory"
  bool in_memory = true;  // of the home
  std::string chosen;     // the name of the path that is tried first
  std::string why;
  std::vector<ResolvePath> paths;  // the chosen one first
};
// A table for people.
[[nodiscard]] GODWIT_API std::string to_text(const ResolveDecision& decision);

}  // namespace godwit
