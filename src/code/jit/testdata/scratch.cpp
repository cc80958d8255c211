// Thread-locals without destructors, large enough to be missed when they are not given back.
#include "entry.hpp"

namespace {

constexpr uint64_t kScratchBytes = 65536;
thread_local char scratch[kScratchBytes];
thread_local char small = 'x';
alignas(256) thread_local uint64_t aligned[4] = {1, 2, 3, 4};
thread_local const uint64_t* const own = &aligned[3];

}  // namespace

// Fills the scratch memory and says how often this thread has.
ENTRY(fill) {
  for (uint64_t at = 0; at < kScratchBytes - 1; at += 512) ++scratch[at];
  return answer(reply, static_cast<uint64_t>(static_cast<unsigned char>(scratch[512])));
}
ENTRY(initial_values) {
  const bool good = small == 'x' && aligned[0] == 1 && aligned[3] == 4 && *own == 4 &&
                    reinterpret_cast<uint64_t>(&aligned[0]) % 256 == 0 &&
                    scratch[kScratchBytes - 1] == 0;
  return answer(reply, good ? 1 : 0);
}
