#include "entry.hpp"

// Both twins define this name, with another value each.
extern "C" uint64_t shared_name = TWIN_VALUE;
extern "C" __attribute__((noinline)) uint64_t helper() {
  return shared_name;
}

ENTRY(ask) {
  return answer(reply, helper());
}
