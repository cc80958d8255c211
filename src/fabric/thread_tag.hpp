// A number that names the calling thread while it lives; cheaper than asking the system.
#pragma once

#include <cstdint>

namespace godwit::fabric {

[[nodiscard]] inline std::uintptr_t this_thread_tag() noexcept {
  static thread_local char tag;
  return reinterpret_cast<std::uintptr_t>(&tag);
}

}  // namespace godwit::fabric
