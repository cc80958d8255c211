#include "entry.hpp"

extern "C" unsigned long crc32(unsigned long crc, const unsigned char* data, unsigned size);

ENTRY(checksum) {
  return answer(reply, crc32(0, reinterpret_cast<const unsigned char*>("godwit"), 6));
}
