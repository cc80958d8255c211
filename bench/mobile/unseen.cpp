// One small function, for first calls.
#include <godwit/mobile.hpp>

std::uint64_t increment(godwit::Here&, std::uint64_t value) {
  return value + 1;
}
GODWIT_EXPORT(increment, inline_);
