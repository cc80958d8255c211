// How an object is doing: what Ref::status() returns.
//
// A value, as the object's home had it when it answered: the object may be gone by now. It costs a
// message to the home, and does not count as reading the object.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "godwit/handle.hpp"
#include "godwit/lifetime.hpp"

namespace godwit {

struct ObjectStatus {
  Handle handle;  // of the newest version
  Lifetime::Kind lifetime = Lifetime::Kind::until_evicted;
  std::optional<std::chrono::nanoseconds> time_left{};  // of a lease
  std::uint32_t readers_left = 0;
  std::uint64_t owner = 0;  // the id of the process that owns it; 0: nobody
  std::uint32_t pins = 0;   // readers that have it at the moment
  std::uint32_t borrows = 0;
  bool borrowed_for_writing = false;
  bool pinned = false;   // by Ref::pin()
  bool pending = false;  // promised, and not there yet
  bool persistent = false;
  bool spilled = false;     // on the home's disk at the moment
  bool elsewhere = false;   // in a channel, and not in the home's memory at the moment
  std::string channel{};    // which has it; not told of those that are listed
  std::uint64_t reads = 0;  // that the home was asked for
  std::chrono::nanoseconds age{};
};

}  // namespace godwit
