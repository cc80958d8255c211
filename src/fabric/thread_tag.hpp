// A number that names the calling thread while it lives; cheaper than asking the system.
#pragma once

#include <cstdint>

namespace godwit::fabric {

[[nodiscard]] inline std::uintptr_t this_thread_tag() noexcept {
  // The library's own copy is found without a call into the loader.
  [[gnu::tls_model("initial-exec")]] static thread_local char tag;
  return reinterpret_cast<std::uintptr_t>(&tag);
}

}  // namespace godwit::fabric
