// The file descriptors a reactor watches: one epoll set and who handles what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/scheduler.hpp"
#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::fabric {

class FdHandler {
 public:
  virtual ~FdHandler() = default;
  // `ready`: the epoll events. Called by the reactor's owner; may watch and unwatch any
  // descriptor, its own included, and destroy the handler.
  virtual void on_fd(std::uint32_t ready) = 0;
};

// Only sleep() may be called by a thread that is not the reactor's owner.
class Watches {
 public:
  [[nodiscard]] static Result<Watches> create();

  // A null handler only wakes sleep().
  [[nodiscard]] Status add(int fd, std::uint32_t events, FdHandler* handler);
  [[nodiscard]] Status change(int fd, std::uint32_t events);
  // Before the descriptor is closed. Events already collected for it are dropped.
  void remove(int fd);
  // Calls the handlers of what is ready now, a bounded number; returns how many.
  std::size_t dispatch();
  // Blocks until something is ready or the deadline has come. Handles nothing; returns one of the
  // ready descriptors, or -1.
  [[nodiscard]] int sleep(Time now, Time deadline);

 private:
  struct Entry {
    FdHandler* handler = nullptr;
    std::uint32_t generation = 0;
    bool used = false;
  };
  explicit Watches(Fd epoll) : epoll_(std::move(epoll)) {}
  [[nodiscard]] Status control(int operation, int fd, std::uint32_t events);

  Fd epoll_;
  std::vector<Entry> entries_;  // by descriptor
};

}  // namespace godwit::fabric
