// How an object would come to this process, and what that takes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "godwit/fleet.hpp"
#include "godwit/object_status.hpp"
#include "godwit/resolve_path.hpp"

namespace godwit::cli {

struct ObjectRoute {
  ObjectStatus object;    // of the newest version
  std::string transport;  // of the link to its home
  ResolvedBy by = ResolvedBy::message;
  std::string why;
  bool located = false;  // or only asked for, where a locate would count as a reader
  std::chrono::nanoseconds ask{};

  // What resolving it took, if that was tried.
  struct Measured {
    ResolvedBy by = ResolvedBy::message;
    std::chrono::nanoseconds first{};  // with what is done once for a home or a segment
    std::chrono::nanoseconds later{};
  };
  std::optional<Measured> measured;
  // Of an object that is in a channel: all the ways, and which is taken.
  std::optional<ResolveDecision> decision;
};

// Asks the home some times; times are medians. To measure is to read the object, some times too.
// Errors: those of resolving; invalid_argument (its lifetime counts readers).
[[nodiscard]] Result<ObjectRoute> explain_route(const Fleet& fleet, const Handle& handle,
                                                bool measure);

}  // namespace godwit::cli
