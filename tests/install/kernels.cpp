#include <godwit/mobile.hpp>

std::uint64_t add(godwit::Here&, std::uint64_t a, std::uint64_t b) {
  return a + b;
}
GODWIT_EXPORT(add);
