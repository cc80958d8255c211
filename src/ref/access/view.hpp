// An object that has been resolved in this process.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "godwit/handle.hpp"

namespace godwit::ref {

// How its bytes came to be readable here.
enum class Path : std::uint8_t {
  pointer,  // this process is the home
  mapping,  // memory of the home, on this host
  message,  // a copy that came with the answer
  stream,   // a copy that came in several pieces
  channel,  // a copy that came from the channel that has it
  copy,     // a copy from memory of the home, on this host
};

// One version, which does not change. Any thread. Its bytes stay until it is destroyed, whatever
// becomes of the object meanwhile.
struct View {
  Handle handle;  // the one it was resolved by; it may name a promise, or an older version
  std::uint64_t version = 0;
  Bytes bytes;
  Path path = Path::pointer;
  std::shared_ptr<const void> keeps;  // what else has to live for that
};

}  // namespace godwit::ref
