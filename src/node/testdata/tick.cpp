// The smallest bundle with state.
#include <godwit/mobile.hpp>

std::uint64_t calls_so_far = 0;
std::uint64_t tick(godwit::Here&) {
  return ++calls_so_far;
}
GODWIT_EXPORT(tick, inline_);
