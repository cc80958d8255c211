#include "entry.hpp"

static double dot(const double* x, const double* y, uint64_t count) {
#pragma clang fp reassociate(on) contract(fast)
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

ENTRY(dot_product) {
  const double sum =
      dot(pointer<const double>(args, 0), pointer<const double>(args, 1), word(args, 2));
  __builtin_memcpy(reply->data, &sum, sizeof sum);
  reply->size = sizeof sum;
  return GODWIT_OK;
}
