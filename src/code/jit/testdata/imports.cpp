#include "entry.hpp"

extern "C" uint64_t godwit_no_such_function(uint64_t);
extern "C" uint64_t godwit_no_such_other(uint64_t);

ENTRY(call_them) {
  return answer(reply, godwit_no_such_function(1) + godwit_no_such_other(2));
}
