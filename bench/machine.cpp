#include "machine.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

#include "trace/json.hpp"

namespace godwit::bench {

Machine describe_machine() {
  Machine machine;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    machine.cpu = line.substr(colon + 2);
    break;
  }
  machine.cores = std::thread::hardware_concurrency();
  utsname names{};
  if (::uname(&names) == 0) {
    machine.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  }
  double load = 0;
  if (::getloadavg(&load, 1) == 1) machine.load = load;
  return machine;
}

std::string to_text(const Machine& machine) {
  return fmt::format("{}, {} cores, {}; load {:.2f} as this began", machine.cpu, machine.cores,
                     machine.kernel, machine.load);
}

std::string to_json(const Machine& machine) {
  std::string out = R"({"cpu": )";
  trace::append_json_string(out, machine.cpu);
  out += fmt::format(R"(, "cores": {}, "kernel": )", machine.cores);
  trace::append_json_string(out, machine.kernel);
  return out + fmt::format(R"(, "load": {:.2f}}})", machine.load);
}

}  // namespace godwit::bench
