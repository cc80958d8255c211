// How a process that serves until it is told to end hears of that.
#pragma once

#include <csignal>

namespace godwit::cli {

// The signals that end it. Blocked in every thread, they are taken by wait() alone.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  int wait() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
    return signal;
  }

 private:
  sigset_t signals_{};
};

}  // namespace godwit::cli
