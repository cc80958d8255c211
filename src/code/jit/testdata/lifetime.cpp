// Constructors, destructors and exit handlers leave letters in a log that outlives the library.
#include <cstdlib>
#include <string>

#include "entry.hpp"

namespace {

std::string built __attribute__((init_priority(1000)));
std::string* log = nullptr;

struct Letter {
  explicit Letter(char name) : name_(name) { built += name; }
  ~Letter() {
    if (log != nullptr) *log += name_;
  }
  char name_;
};

Letter late __attribute__((init_priority(60000))) ('c');
Letter early __attribute__((init_priority(5000))) ('b');
Letter ordinary('d');

// Runs before `built` is constructed, so it only counts.
int first_calls = 0;
__attribute__((constructor(200))) void first() {
  ++first_calls;
}
__attribute__((destructor(200))) void last() {
  if (log != nullptr) *log += 'z';
}

}  // namespace

ENTRY(constructed) {
  built.copy(static_cast<char*>(reply->data), built.size());
  reply->size = built.size();
  return GODWIT_OK;
}
ENTRY(first_ran) {
  return answer(reply, static_cast<uint64_t>(first_calls));
}
ENTRY(watch) {
  log = pointer<std::string>(args, 0);
  static const Letter local('l');
  std::atexit([] {
    if (log != nullptr) *log += 'x';
  });
  return answer(reply, 0);
}
