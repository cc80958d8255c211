#include "code/bundle/target.hpp"

namespace godwit::code {

std::string_view to_string(Machine machine) noexcept {
  switch (machine) {
    case Machine::x86_64: return "x86_64";
    case Machine::aarch64: return "aarch64";
    case Machine::none: break;
  }
  return "unknown";
}

std::string_view to_string(SliceKind kind) noexcept {
  switch (kind) {
    case SliceKind::native: return "native";
    case SliceKind::bitcode: return "bitcode";
    case SliceKind::none: break;
  }
  return "unknown";
}

std::optional<Machine> parse_machine(std::string_view text) noexcept {
  for (const Machine machine : {Machine::x86_64, Machine::aarch64}) {
    if (text == to_string(machine) || text == triple_of(machine)) return machine;
  }
  return std::nullopt;
}

std::string_view triple_of(Machine machine) noexcept {
  switch (machine) {
    case Machine::x86_64: return "x86_64-linux-gnu";
    case Machine::aarch64: return "aarch64-linux-gnu";
    case Machine::none: break;
  }
  return {};
}

Machine host_machine() noexcept {
#if defined(__x86_64__)
  return Machine::x86_64;
#elif defined(__aarch64__)
  return Machine::aarch64;
#else
#error "this machine has no entry in code::Machine"
#endif
}

}  // namespace godwit::code
