/* Exports an entry written by hand in C (or C++): it reads the argument blob and writes the reply
 * itself, both laid out as docs/types.md says.
 *
 *   GODWIT_EXPORT_C(add, "(u64, u64) -> u64", GODWIT_EXPORT_INLINE);
 *   int32_t godwit_entry_add(const godwit_here_v1* here, const void* args, size_t args_size,
 *                            godwit_reply* reply) { ... }
 *
 * The export stands before the entry, which it makes visible. The signature must be canonical:
 * `godwit cc` rejects it otherwise. */
#ifndef GODWIT_MOBILE_C_H
#define GODWIT_MOBILE_C_H

#include "godwit/mobile_abi.h"

#ifdef __cplusplus
#define GODWIT_C_LINKAGE extern "C"
#else
#define GODWIT_C_LINKAGE extern
#endif

#if defined(__has_attribute) && __has_attribute(retain)
#define GODWIT_C_RETAIN retain
#else
#define GODWIT_C_RETAIN used
#endif

/* The strings stand right behind the record, each with its terminating zero; the alignment of the
 * type rounds its size up to a multiple of 8, that of the object keeps compilers from aligning it
 * to more. */
#define GODWIT_EXPORT_C(function, signature_text, export_flags)                                  \
  GODWIT_C_LINKAGE __attribute__((visibility("default"), used)) int32_t godwit_entry_##function( \
      const godwit_here_v1* here, const void* args, size_t args_size, godwit_reply* reply);      \
  static const struct __attribute__((aligned(8))) {                                              \
    godwit_export_v1 head;                                                                       \
    char name[sizeof #function];                                                                 \
    char signature[sizeof(signature_text)];                                                      \
    char entry[sizeof "godwit_entry_" #function];                                                \
  } godwit_export_of_##function                                                                  \
      __attribute__((section("godwit_exports"), used, GODWIT_C_RETAIN, aligned(8))) = {          \
          {sizeof godwit_export_of_##function, (export_flags), sizeof(godwit_export_v1),         \
           sizeof #function - 1, sizeof(godwit_export_v1) + sizeof #function,                    \
           sizeof(signature_text) - 1,                                                           \
           sizeof(godwit_export_v1) + sizeof #function + sizeof(signature_text),                 \
           sizeof "godwit_entry_" #function - 1},                                                \
          #function,                                                                             \
          signature_text,                                                                        \
          "godwit_entry_" #function}

#endif
