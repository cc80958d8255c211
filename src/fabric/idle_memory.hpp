// Gives back to the system what large_blocks() keeps, once nobody has used it for a while.
#pragma once

#include <chrono>

#include "base/block_cache.hpp"
#include "fabric/reactor.hpp"

namespace godwit::fabric {

// For a transport that moves large bodies. Every member is called by the reactor's owner; the
// reactor outlives it.
class IdleMemory {
 public:
  static constexpr std::chrono::milliseconds kIdle{1000};

  explicit IdleMemory(Reactor& reactor) : reactor_(reactor) {}
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;
  ~IdleMemory() { reactor_.cancel(timer_); }

  // A large body was moved: some memory may soon be idle. Cheap.
  void note_use() {
    if (!armed_) arm();
  }

 private:
  void arm() {
    armed_ = true;
    timer_ = reactor_.post_at(reactor_.now() + kIdle, [this] {
      armed_ = false;
      if (large_blocks().release_idle(kIdle)) arm();
    });
  }

  Reactor& reactor_;
  TimerId timer_;
  bool armed_ = false;
};

}  // namespace godwit::fabric
