// Counters in the text format that Prometheus scrapes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trace/counters.hpp"

namespace godwit::trace {

// The text exposition format, version 0.0.4. Every name gets `prefix`; counters get "_total" unless
// they end so. A histogram's buckets are at powers of two, up to the one that holds its maximum.
[[nodiscard]] std::string prometheus_text(std::span<const Sample> samples,
                                          std::string_view prefix = "godwit_");

}  // namespace godwit::trace
