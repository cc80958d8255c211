// Mobile code built with -fno-exceptions.
#include <godwit/mobile.hpp>

std::int32_t half(godwit::Here& here, std::int32_t value) {
  if (value % 2 == 0) return value / 2;
  auto call = here.call<half>(here.self(), value + 1);
  const auto outcome = call.outcome();
  return outcome ? outcome.value : -1;
}
GODWIT_EXPORT(half);
