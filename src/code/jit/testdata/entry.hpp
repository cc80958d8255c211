// Entries of the mobile ABI for tests: arguments and result are 64-bit words.
#pragma once

#include <stdint.h>

#include "godwit/mobile_abi.h"

#define ENTRY(name)                                                                          \
  extern "C" int32_t name(const godwit_here_v1* /*here*/, [[maybe_unused]] const void* args, \
                          size_t /*size*/, [[maybe_unused]] godwit_reply* reply)

inline uint64_t word(const void* args, int index) {
  return static_cast<const uint64_t*>(args)[index];
}
template <class T>
T* pointer(const void* args, int index) {
  return reinterpret_cast<T*>(word(args, index));
}
inline int32_t answer(godwit_reply* reply, uint64_t value) {
  *static_cast<uint64_t*>(reply->data) = value;
  reply->size = sizeof value;
  return GODWIT_OK;
}
