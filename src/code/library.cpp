#include "code/library.hpp"

namespace godwit::code {

std::string_view to_string(Tier tier) noexcept {
  switch (tier) {
    case Tier::native: return "native";
    case Tier::fast: return "fast";
    case Tier::optimised: return "optimised";
  }
  return "unknown";
}

}  // namespace godwit::code
