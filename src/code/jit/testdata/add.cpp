#include "entry.hpp"

ENTRY(add) {
  return answer(reply, word(args, 0) + word(args, 1));
}
