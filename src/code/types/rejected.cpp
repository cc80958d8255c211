// Each CASE must fail to compile, with a message that says what to do (see CMakeLists.txt).
#include <godwit/mobile.hpp>
#include <string>
#include <vector>

struct Unregistered {
  int x;
};
struct Forgetful {
  double x, y, z;
};
GODWIT_STRUCT(Forgetful, x, z);

#if CASE == 1
int function(const int*) {
  return 0;
}
#elif CASE == 2
int function(int&) {
  return 0;
}
#elif CASE == 3
int function(Unregistered) {
  return 0;
}
#elif CASE == 4
int function(Forgetful) {
  return 0;
}
#elif CASE == 5
int function(std::span<int>) {
  return 0;
}
#elif CASE == 6
int function(std::string) {
  return 0;
}
#elif CASE == 7
char function(int) {
  return 'x';
}
#endif
GODWIT_EXPORT(function);
