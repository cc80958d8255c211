// Events as a file that Perfetto and chrome://tracing open.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/events.hpp"

namespace godwit::trace {

struct TracedProcess {
  std::uint32_t pid = 0;
  std::string name;  // for instance the node's
};

// The events alone, one after another with commas: for a file with those of several processes.
[[nodiscard]] std::string chrome_trace_events(const TracedProcess& process,
                                              std::span<const Event> events);
// The Trace Event Format: spans as complete events, instants as such, times in microseconds.
[[nodiscard]] std::string chrome_trace_json(const TracedProcess& process,
                                            std::span<const Event> events);

}  // namespace godwit::trace
