// What the emulator itself adds on this machine: to know before believing what is measured with it.
#pragma once

#include <chrono>

#include "netlab/lab.hpp"

namespace godwit::netlab {

// Prints tables: lateness of round trips for several delays, packets and bytes per second. Takes
// about a quarter of a minute; the machine should have nothing else to do.
[[nodiscard]] Status print_measurements(std::chrono::microseconds spin);

}  // namespace godwit::netlab
