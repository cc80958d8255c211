#include "interrupt.hpp"

#include <csignal>

namespace godwit::cli {
namespace {

volatile std::sig_atomic_t caught = 0;  // a signal handler can reach nothing else

}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { caught = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return caught != 0;
}

}  // namespace godwit::cli
