// What a node says of the machine it runs on.
#pragma once

#include <string>
#include <string_view>

#include "fleet/record.hpp"

namespace godwit::node {

[[nodiscard]] fleet::Capacities capacities();
// As the system names it ("AMD EPYC 9B14 96-Core Processor"); empty if it does not. Reads
// /proc/cpuinfo.
[[nodiscard]] std::string cpu_name();
// The same, out of that file's text. Arm's says numbers only; printable ASCII, cut to what a node
// record may hold.
[[nodiscard]] std::string cpu_name_in(std::string_view cpuinfo);

}  // namespace godwit::node
