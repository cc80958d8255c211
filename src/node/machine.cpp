#include "node/machine.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "fleet/limits.hpp"

namespace godwit::node {
namespace {

// The value of the first line with that key.
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string_view::npos) return line.substr(colon + 2);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

}  // namespace

fleet::Capacities capacities() {
  fleet::Capacities all;
  all.cores = std::thread::hardware_concurrency();
  struct sysinfo info{};
  if (::sysinfo(&info) == 0) all.memory_bytes = std::uint64_t{info.totalram} * info.mem_unit;
  return all;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return cpu_name_in(text.str());
}

std::string cpu_name_in(std::string_view cpuinfo) {
  std::string name(value_of(cpuinfo, "model name"));
  if (name.empty()) {
    const std::string_view implementer = value_of(cpuinfo, "CPU implementer");
    const std::string_view part = value_of(cpuinfo, "CPU part");
    if (part.empty()) return {};
    name = fmt::format("Arm implementer {} part {}", implementer, part);
  }
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name.substr(0, fleet::kMaxTargetFieldBytes);
}

}  // namespace godwit::node
