/* A raw entry in C. */
#include <godwit/mobile_c.h>
#include <string.h>

GODWIT_EXPORT_C(c_add, "(u64, u64) -> u64", GODWIT_EXPORT_INLINE);
int32_t godwit_entry_c_add(const godwit_here_v1* here, const void* args, size_t args_size,
                           godwit_reply* reply) {
  uint64_t numbers[2];
  (void)here;
  if (args_size < sizeof numbers) return GODWIT_BAD_ARGS;
  memcpy(numbers, args, sizeof numbers);
  numbers[0] += numbers[1];
  memcpy(reply->data, numbers, sizeof numbers[0]);
  reply->size = sizeof numbers[0];
  return GODWIT_OK;
}
